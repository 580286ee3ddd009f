/* maker_test.c - growing a model: names, order, refusals, pruning. */
#include "tests/runner/test.h"

#include "model/test_support.h"

static as_maker *maker(assay_env *env)
{
    as_maker *m = NULL;
    expect_ok(env, as_maker_new(env, "t", 1, &m));
    return m;
}

static int input(as_maker *m, const char *name)
{
    as_dims dims = {.rank = 1, .dim = {{.size = 4}}};
    return as_maker_input(m, name, AS_F32, &dims);
}

static int relu(as_maker *m, const char *name, int x) { return as_maker_node(m, "Relu", name, &x, 1, NULL, 0, NULL, 1, NULL); }

static void expect_refusal(assay_env *env, as_maker *m, const char *sentence)
{
    assay_model *model = NULL;
    expect_fails(env, as_maker_finish(m, &model), ASSAY_BAD_INPUT, sentence);
    expect(!model);
    assay_env_free(env);
}

Test(maker, builds_a_model_whose_results_are_named_after_their_nodes)
{
    assay_env   *env = test_env();
    as_maker    *m = maker(env);
    assay_model *model;
    as_maker_output(m, relu(m, NULL, relu(m, "first", input(m, "x"))));
    expect_ok(env, as_maker_finish(m, &model));
    expect_eq(model->n_nodes, 2);
    expect_str(model->nodes[0].name, "first");
    expect_str(model->nodes[1].name, "relu_2");
    expect_str(model->values[model->outputs[0]].name, "relu_2");
    expect_eq(as_model_value_find(model, "first"), model->nodes[1].in[0]);
    expect_eq(as_model_value_find(model, "nobody"), -1);
    assay_model_free(model);
    assay_env_free(env);
}

Test(maker, makes_up_names_that_nobody_has)
{
    assay_env   *env = test_env();
    as_maker    *m = maker(env);
    assay_model *model;
    int          x = input(m, "relu_1");
    as_maker_output(m, relu(m, NULL, relu(m, "relu_3", relu(m, NULL, x))));
    expect_ok(env, as_maker_finish(m, &model));
    expect_str(model->nodes[0].name, "relu_2");
    expect_str(model->nodes[2].name, "relu_4");
    assay_model_free(model);
    assay_env_free(env);
}

Test(maker, sorts_nodes_that_come_before_what_they_read)
{
    assay_env   *env = test_env();
    as_maker    *m = maker(env);
    assay_model *model;
    int          late = as_maker_value_named(m, "a");
    const char  *name = "a";
    as_maker_output(m, relu(m, "second", late));
    int x = input(m, "x");
    as_maker_node(m, "Tanh", "first", &x, 1, NULL, 0, NULL, 1, &name);
    expect_ok(env, as_maker_finish(m, &model));
    expect_str(model->nodes[0].name, "first");
    expect_str(model->nodes[1].name, "second");
    expect_eq(model->values[model->nodes[1].in[0]].producer, 0);
    expect_eq(model->values[model->outputs[0]].producer, 1);
    assay_model_free(model);
    assay_env_free(env);
}

Test(maker, keeps_the_order_of_nodes_that_are_in_order)
{
    assay_env   *env = test_env();
    as_maker    *m = maker(env);
    assay_model *model;
    int          x = input(m, "x"), a = relu(m, "a", x), b = relu(m, "b", x);
    as_maker_output(m, relu(m, "c", b));
    as_maker_output(m, relu(m, "d", a));
    expect_ok(env, as_maker_finish(m, &model));
    for (int i = 0; i < 4; i++)
        expect_eq(model->nodes[i].name[0], "abcd"[i]);
    assay_model_free(model);
    assay_env_free(env);
}

Test(maker, sorts_a_chain_of_any_depth_without_recursion)
{
    assay_env   *env = test_env();
    as_maker    *m = maker(env);
    assay_model *model;
    enum { DEPTH = 50000 };
    input(m, "v0");
    for (int i = DEPTH; i > 0; i--) { /* backwards: every node reads what the next one computes */
        char        in[16], out[16];
        const char *name = out;
        snprintf(in, sizeof in, "v%d", i - 1);
        snprintf(out, sizeof out, "v%d", i);
        int x = as_maker_value_named(m, in);
        int y = as_maker_node(m, "Relu", NULL, &x, 1, NULL, 0, NULL, 1, &name);
        if (i == DEPTH)
            as_maker_output(m, y);
    }
    expect_ok(env, as_maker_finish(m, &model));
    expect_eq(model->n_nodes, DEPTH);
    expect_str(model->values[model->nodes[0].out[0]].name, "v1");
    assay_model_free(model);
    assay_env_free(env);
}

Test(maker, leaves_out_what_no_output_needs_when_told_to_prune)
{
    assay_env   *env = test_env();
    as_maker    *m = maker(env);
    assay_model *model;
    float        one = 1.0f;
    as_view      view = as_view_of(&one, AS_F32, &(as_shape){0});
    int          x = input(m, "x"), unused = as_maker_constant(m, "unused", &view), used = as_maker_constant(m, "used", &view);
    as_maker_node(m, "Add", "waste", (int[]){x, unused}, 2, NULL, 0, NULL, 1, NULL);
    as_maker_output(m, as_maker_node(m, "Add", "work", (int[]){x, used}, 2, NULL, 0, NULL, 1, NULL));
    input(m, "spare");
    as_maker_prune(m);
    expect_ok(env, as_maker_finish(m, &model));
    expect_eq(model->n_nodes, 1);
    expect_str(model->nodes[0].name, "work");
    expect_eq(as_model_value_find(model, "unused"), -1);
    expect_str(model->values[model->nodes[0].in[1]].name, "used");
    expect_eq(model->n_inputs, 2);
    expect_str(model->values[model->inputs[1]].name, "spare");
    assay_model_free(model);
    assay_env_free(env);
}

Test(maker, names_a_node_on_a_cycle)
{
    assay_env  *env = test_env();
    as_maker   *m = maker(env);
    const char *a = "a", *b = "b";
    int         late = as_maker_value_named(m, a);
    int         y = as_maker_node(m, "Relu", "one", &late, 1, NULL, 0, NULL, 1, &b);
    as_maker_node(m, "Relu", "two", &y, 1, NULL, 0, NULL, 1, &a);
    as_maker_output(m, y);
    expect_refusal(env, m, "model: t: a cycle: node 'two' reads 'b', which depends on the node's own result");
}

Test(maker, refuses_a_value_that_nothing_computes)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    input(m, "hidden");
    as_maker_output(m, relu(m, "r", as_maker_value_named(m, "hiden")));
    expect_refusal(
        env, m, "node 'r' reads 'hiden', which is not an input, parameter, constant or result of a node (did you mean 'hidden'?)");
}

Test(maker, refuses_an_output_that_nothing_computes)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    as_maker_output(m, as_maker_value_named(m, "y"));
    expect_refusal(env, m, "the output 'y' is not an input");
}

Test(maker, refuses_a_model_without_an_output)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    input(m, "x");
    expect_refusal(env, m, "model: t: it has no output");
}

Test(maker, refuses_two_values_of_one_name)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    input(m, "x");
    as_maker_output(m, relu(m, "x", 0));
    expect_refusal(env, m, "two values have the name 'x'");
}

Test(maker, refuses_two_nodes_of_one_name)
{
    assay_env  *env = test_env();
    as_maker   *m = maker(env);
    const char *other = "other";
    int         x = relu(m, "r", input(m, "x"));
    as_maker_node(m, "Relu", "r", &x, 1, NULL, 0, NULL, 1, &other);
    expect_refusal(env, m, "two nodes have the name 'r'");
}

Test(maker, refuses_the_same_output_twice)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    int        x = relu(m, "r", input(m, "x"));
    as_maker_output(m, x);
    as_maker_output(m, x);
    expect_refusal(env, m, "'r' is an output twice");
}

Test(maker, offers_the_nearest_operator)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    int        x = input(m, "x");
    expect_eq(as_maker_node(m, "ReLu6", "r", &x, 1, NULL, 0, NULL, 1, NULL), -1);
    expect_refusal(env, m, "unknown operator 'ReLu6' (did you mean 'Relu'?)");
}

Test(maker, refuses_a_wrong_number_of_inputs)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    int        x = input(m, "x");
    as_maker_node(m, "Relu", "r", (int[]){x, x}, 2, NULL, 0, NULL, 1, NULL);
    expect_refusal(env, m, "Relu 'r' has 2 inputs and takes 1 to 1");
}

Test(maker, refuses_a_wrong_number_of_outputs)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    int        x = input(m, "x");
    as_maker_node(m, "Relu", "r", &x, 1, NULL, 0, NULL, 2, NULL);
    expect_refusal(env, m, "Relu 'r' has 2 outputs and gives 1 to 1");
}

Test(maker, refuses_an_absent_input_that_is_needed)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    int        x = input(m, "x");
    as_maker_node(m, "Gemm", "g", (int[]){-1, x, -1}, 3, NULL, 0, NULL, 1, NULL);
    expect_refusal(env, m, "Gemm 'g': input 0 is absent and it needs the first 2");
}

Test(maker, refuses_empty_and_endless_names)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    input(m, "");
    expect_refusal(env, m, "the name of one input is empty");
    env = test_env();
    m = maker(env);
    char name[AS_MAX_NAME_BYTES + 2];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    input(m, name);
    expect_refusal(env, m, "the name of one input has 513 bytes and at most 512 are possible");
}

Test(maker, refuses_shapes_that_cannot_be_counted)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    as_maker_param(m, "p", AS_F32, &AS_SHAPE(INT64_C(1) << 40, INT64_C(1) << 40), NULL, false);
    expect_refusal(env, m, "parameter 'p' of f32 [1099511627776,1099511627776]: a size is negative or their product too large");
    env = test_env();
    m = maker(env);
    as_dims dims = {.rank = 1, .dim = {{.size = -1}}};
    as_maker_input(m, "x", AS_F32, &dims);
    expect_refusal(env, m, "input 'x' of f32 [-1]: a size is negative");
    env = test_env();
    m = maker(env);
    dims.rank = 9;
    as_maker_input(m, "x", AS_F32, &dims);
    expect_refusal(env, m, "input 'x' has rank 9 and at most 8 are possible");
}

Test(maker, limits_the_bytes_of_all_parameters_together)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    as_maker_param_limit(m, 100);
    expect(as_maker_param_random(m, "a", &AS_SHAPE(20), 1) >= 0);
    as_maker_param_random(m, "b", &AS_SHAPE(6), 1);
    expect_refusal(env, m, "parameter 'b' of f32 [6] has 24 bytes and brings the parameters above the limit of 100 bytes");
    env = test_env();
    m = maker(env);
    as_maker_param_random(m, "p", &AS_SHAPE(INT64_C(1) << 40), 1);
    expect_refusal(env, m, "has 4398046511104 bytes and brings the parameters above the limit of 17179869184 bytes");
}

Test(maker, takes_no_more_memory_than_the_machine_has)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    float      held[30] = {0};
    as_maker_memory_limit(m, 100);
    expect(as_maker_param(m, "borrowed", AS_F32, &AS_SHAPE(30), held, false) >= 0); /* takes none */
    expect(as_maker_param_random(m, "a", &AS_SHAPE(20), 1) >= 0);
    expect(as_maker_param(m, "zeros", AS_F32, &AS_SHAPE(5), NULL, false) >= 0);
    as_maker_param_random(m, "b", &AS_SHAPE(1), 1);
    expect_refusal(env, m,
                   "parameter 'b' of f32 [1] has 4 bytes, after 100 that are held already: more than the 100 bytes of memory");
    env = test_env();
    m = maker(env);
    as_maker_memory_limit(m, 7);
    as_maker_constant(m, "c", &(as_view){.data = held, .dtype = AS_F32, .shape = AS_SHAPE(2), .stride = {1}});
    expect_refusal(env, m, "constant 'c' of f32 [2] has 8 bytes, after 0 that are held already: more than the 7 bytes of memory");
}

/* Bytes of a file may be at any address: a parameter stays there, a small constant is copied, a large one is copied when it is
 * bound. */
Test(maker, unaligned_data_stay_where_they_are)
{
    enum { LARGE = 20000 };
    assay_env     *env = test_env();
    as_maker      *m = maker(env);
    assay_model   *model;
    unsigned char *bytes = calloc(LARGE + 1, 4), *odd = bytes + 1;
    float          x = 3.0f;
    memcpy(odd + 4, &x, 4);
    int p = as_maker_param(m, "p", AS_F32, &AS_SHAPE(LARGE), odd, false);
    int small = as_maker_constant_borrow(m, "small", AS_F32, &AS_SHAPE(2), odd);
    int large = as_maker_constant_borrow(m, "large", AS_F32, &AS_SHAPE(LARGE), odd);
    as_maker_output(m, as_maker_node(m, "Add", "sum", (int[]){p, large}, 2, NULL, 0, NULL, 1, NULL));
    as_maker_output(m, as_maker_node(m, "Neg", "minus", &small, 1, NULL, 0, NULL, 1, NULL));
    expect_ok(env, as_maker_finish(m, &model));
    expect(model->values[as_model_value_find(model, "p")].data == odd);
    expect(model->values[as_model_value_find(model, "large")].data == odd);
    expect(as_dtype_aligned(AS_F32, model->values[as_model_value_find(model, "small")].data));
    expect(model->arena.bytes_used < 8192);

    as_arena arena = {0};
    as_graph g;
    expect_ok(env, as_graph_bind(env, model, NULL, 0, NULL, 0, 1, &arena, &g));
    expect(g.values[as_model_value_find(model, "p")].data == odd);
    const as_bound_value *v = &g.values[as_model_value_find(model, "large")];
    expect(v->data == v->info.constant && as_dtype_aligned(AS_F32, v->data));
    float  *sum = malloc(LARGE * sizeof *sum), minus[2];
    as_view out[] = {as_view_of(sum, AS_F32, &AS_SHAPE(LARGE)), as_view_of(minus, AS_F32, &AS_SHAPE(2))};
    expect_ok(env, as_graph_eval(env, &g, NULL, out));
    expect_near(sum[1], 6, 0);
    expect_near(minus[1], -3, 0);
    free(sum);
    as_arena_drop(&arena);
    assay_model_free(model);
    free(bytes);
    assay_env_free(env);
}

Test(maker, keeps_the_first_failure)
{
    assay_env *env = test_env();
    as_maker  *m = maker(env);
    as_maker_fail(m, "the first of %d", 2);
    as_maker_fail(m, "the second");
    as_fail(env, ASSAY_IO, "somebody else");
    expect_eq(input(m, "x"), -1);
    expect_refusal(env, m, "model: t: the first of 2");
}

Test(maker, draws_weights_by_seed_and_name_and_not_by_order)
{
    assay_env   *env = test_env();
    assay_model *model[3];
    for (int i = 0; i < 3; i++) {
        as_maker *m;
        expect_ok(env, as_maker_new(env, "t", i == 2 ? 2 : 1, &m));
        if (i == 1)
            as_maker_param_random(m, "before", &AS_SHAPE(7), 1);
        as_maker_output(m, as_maker_param_random(m, "w", &AS_SHAPE(1000), 16));
        expect_ok(env, as_maker_finish(m, &model[i]));
    }
    const float *a = model[0]->values[0].data, *b = model[1]->values[1].data, *c = model[2]->values[0].data;
    expect(!memcmp(a, b, 1000 * sizeof *a));
    expect(memcmp(a, c, 1000 * sizeof *a) != 0);
    double sum = 0, largest = 0;
    for (int i = 0; i < 1000; i++) {
        sum += (double)a[i];
        largest = fmax(largest, fabs((double)a[i]));
    }
    expect(largest <= 0.25 && largest > 0.24);
    expect_near(sum / 1000, 0, 0.02);
    for (int i = 0; i < 3; i++)
        assay_model_free(model[i]);
    assay_env_free(env);
}

Test(maker, draws_the_same_weights_in_every_float_dtype)
{
    assay_env   *env = test_env();
    assay_model *model;
    as_maker    *m = maker(env), *n = maker(env);
    as_maker_output(m, as_maker_param_uniform(m, "w", AS_F64, &AS_SHAPE(100), 9));
    expect_ok(env, as_maker_finish(m, &model));
    as_maker_output(n, as_maker_param_random(n, "w", &AS_SHAPE(100), 9));
    assay_model *other;
    expect_ok(env, as_maker_finish(n, &other));
    for (int i = 0; i < 100; i++)
        expect_near(((const double *)model->values[0].data)[i], (double)((const float *)other->values[0].data)[i], 0);
    assay_model_free(model);
    assay_model_free(other);
    assay_env_free(env);
}

Test(maker, copies_data_and_attributes_that_it_is_given)
{
    assay_env   *env = test_env();
    as_maker    *m = maker(env);
    assay_model *model;
    float        values[] = {1, 2, 3, 4};
    int64_t      perm[] = {1, 0};
    char         text[] = "perm";
    as_attr      attr = {.name = text, .kind = AS_ATTR_INTS, .ints = perm, .n = 2};
    int          p = as_maker_param(m, "p", AS_F32, &AS_SHAPE(2, 2), values, true);
    int          zeros = as_maker_param(m, "z", AS_F32, &AS_SHAPE(3), NULL, false);
    as_maker_output(m, as_maker_node(m, "Transpose", "t", &p, 1, &attr, 1, NULL, 1, NULL));
    as_maker_output(m, zeros);
    values[0] = 9, perm[0] = 9, text[0] = 'x';
    expect_ok(env, as_maker_finish(m, &model));
    expect_near(((const float *)model->values[0].data)[0], 1, 0);
    expect_near(((const float *)model->values[1].data)[2], 0, 0);
    expect_str(model->nodes[0].attrs[0].name, "perm");
    expect_eq(model->nodes[0].attrs[0].ints[0], 1);
    expect_eq(as_model_param_count(model), 7);
    expect_eq(as_model_param_bytes(model), 28);
    assay_model_free(model);
    assay_env_free(env);
}

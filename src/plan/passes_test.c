/* passes_test.c - how the passes change a graph, and that its answers stay the same. */
#include "plan/edit.h"
#include "plan/test_fixture.h"

/* --- The same answers ------------------------------------------------------------------------------- */

static void compare(const char *spec, const char *batch)
{
    size_t n_on, n_off;
    float *on = fixture_result(spec, (const char *const[]){"batch", batch, "compile", "on", NULL}, 0, &n_on);
    float *off = fixture_result(spec, (const char *const[]){"batch", batch, "compile", "off", NULL}, 0, &n_off);
    expect_eq(n_on, n_off);
    as_shape shape = AS_SHAPE((int64_t)(n_on / sizeof *on));
    as_view  a = as_view_of(on, AS_F32, &shape), b = as_view_of(off, AS_F32, &shape);
    double   error = as_view_error(&a, &b);
    if (error > 1e-4)
        fail("%s: compiled and op by op differ by %g", spec, error);
    free(on);
    free(off);
}

Test(passes, every_network_gives_the_same_answers_compiled_and_not)
{
    static const char *const specs[] = {"mlp-small",     "mlp-bn",      "mlp-dropout",    "cnn-small", "cnn-bn", "cnn-residual",
                                        "cnn-separable", "cnn-grouped", "cnn-bottleneck", "cnn-widen", "lstm",   "gru"};
    for (size_t i = 0; i < AS_COUNT(specs); i++)
        compare(specs[i], "2");
}

/* --- The changed graph --------------------------------------------------------------------------------- */

static const as_pass_note *note_of(const assay_plan *plan, const char *pass)
{
    for (int i = 0; i < plan->n_passes; i++)
        if (!strcmp(plan->passes[i].pass, pass))
            return &plan->passes[i];
    fail("there is no pass %s", pass);
    return NULL;
}

static int steps_of(const assay_plan *plan, const char *op)
{
    int n = 0;
    for (int s = plan->n_prologue; s < plan->n_steps; s++)
        n += plan->steps[s].kind == AS_STEP_NODE && !strcmp(plan->steps[s].seg.ctx->op->name, op);
    return n;
}

Test(passes, a_batch_normalisation_becomes_weights_of_the_prologue)
{
    fixture f;
    fixture_open(&f, "cnn-bn");
    fixture_plan(&f);
    expect(note_of(f.plan, "norm")->n_changed > 0);
    expect(note_of(f.plan, "norm")->bytes_saved > 0);
    expect_eq(steps_of(f.plan, "BatchNormalization"), 0);
    int n = 0;
    for (int s = 0; s < f.plan->n_prologue; s++)
        n += f.plan->steps[s].kind == AS_STEP_NODE && !strcmp(f.plan->steps[s].seg.ctx->op->name, "assay.NormWeight");
    expect_eq(n, note_of(f.plan, "norm")->n_changed);
    fixture_close(&f);
}

Test(passes, activations_are_fused_into_the_products_before_them)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_plan(&f);
    expect_eq(steps_of(f.plan, "Relu"), 0);
    expect(steps_of(f.plan, "assay.FusedGemm") > 0);
    expect(note_of(f.plan, "fuse")->n_changed > 0);
    fixture_close(&f);
}

/* A block of a network as a framework exports it, with the modules of its nodes. */
static const char block[] =
    "{\"format\":\"assay.model/1\",\"name\":\"t\",\"inputs\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[1,3,8,8]}],\"params\":["
    "{\"name\":\"w\",\"dtype\":\"f32\",\"shape\":[4,3,3,3],\"random\":{\"fan_in\":27}},"
    "{\"name\":\"s\",\"dtype\":\"f32\",\"shape\":[4],\"random\":{\"fan_in\":4}},"
    "{\"name\":\"v\",\"dtype\":\"f32\",\"shape\":[4],\"values\":[1,1,1,1]}],\"nodes\":["
    "{\"op\":\"Conv\",\"name\":\"layer4.1.conv2\",\"module\":\"layer4.1.conv2\",\"in\":[\"x\",\"w\"],\"out\":[\"a\"]},"
    "{\"op\":\"BatchNormalization\",\"name\":\"layer4.1.bn2\",\"module\":\"layer4.1.bn2\",\"in\":[\"a\",\"s\",\"s\",\"s\",\"v\"],"
    "\"out\":[\"b\"]},"
    "{\"op\":\"Relu\",\"name\":\"layer4.1.relu\",\"module\":\"layer4.1.relu\",\"in\":[\"b\"],\"out\":[\"c\"]},"
    "{\"op\":\"Softmax\",\"name\":\"layer4.1 (Softmax)\",\"module\":\"layer4.1\",\"in\":[\"c\"],\"out\":[\"y\"]}],\"outputs\":[\"y\"]}";

static const as_step *step_named(const assay_plan *plan, const char *name)
{
    for (int i = 0; i < plan->n_steps; i++)
        if (!strcmp(plan->steps[i].name, name))
            return &plan->steps[i];
    fail("no step is called %s", name);
}

Test(passes, a_fused_step_says_what_it_does_and_keeps_the_module_of_its_product)
{
    fixture f;
    fixture_open(&f, NULL);
    expect_ok(f.env, as_file_write(f.env, as_test_path("block.json"), block, sizeof block - 1));
    expect_ok(f.env, assay_model_load(f.env, as_test_path("block.json"), f.options, &f.model));
    fixture_plan(&f);
    expect_str(step_named(f.plan, "layer4.1.conv2+bn2+relu")->module, "layer4.1.conv2");
    expect_str(step_named(f.plan, "layer4.1 (Softmax)")->module, "layer4.1");
    for (int i = 0; i < f.plan->n_steps; i++) /* steps that passes made for it belong to it, too */
        expect(!strncmp(f.plan->steps[i].module, "layer4.1", 8));
    fixture_close(&f);
}

Test(passes, joined_names_leave_out_what_is_said_and_end_somewhere)
{
    as_arena    arena = {0};
    const char *name = "a.b.conv";
    expect_str(as_edit_name_join(&arena, "layer4.1.conv2", "layer4.1.bn2"), "layer4.1.conv2+bn2");
    expect_str(as_edit_name_join(&arena, "layer4.1.conv2+bn2", "layer4.1 (Add)"), "layer4.1.conv2+bn2+Add");
    expect_str(as_edit_name_join(&arena, "layer4.1.conv2", "layer4.10.bn2"), "layer4.1.conv2+10.bn2");
    expect_str(as_edit_name_join(&arena, "conv1", "bn1"), "conv1+bn1");
    expect_str(as_edit_name_join(&arena, "conv1", "conv1 (Relu)"), "conv1+Relu");
    for (int i = 0; i < 200; i++)
        expect((name = as_edit_name_join(&arena, name, "a.b.relu")) != NULL);
    expect(strlen(name) < 110);
    expect_has(name, "+relu+…");
    as_arena_drop(&arena);
}

Test(passes, nothing_is_changed_when_compile_is_off)
{
    fixture f;
    fixture_open(&f, "cnn-bn");
    fixture_set(&f, "compile", "off");
    fixture_plan(&f);
    expect_eq(f.plan->n_passes, 0);
    expect_eq(steps_of(f.plan, "assay.FusedConv"), 0);
    expect(steps_of(f.plan, "BatchNormalization") > 0);
    fixture_close(&f);
}

Test(passes, both_is_no_plan)
{
    fixture     f;
    assay_plan *plan = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "compile", "both");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &plan), ASSAY_BAD_INPUT, "compile both makes two plans");
    fixture_close(&f);
}

static int weight(as_maker *m, const char *name, int64_t rows, int64_t columns)
{
    return as_maker_param_random(m, name, &AS_SHAPE(rows, columns), rows);
}

/* Reads one output of a model under compile on and off. */
static void both_ways(assay_model *(*make)(fixture *), void (*look)(const assay_plan *))
{
    float  values[2][256];
    size_t n = 0;
    for (int off = 0; off < 2; off++) {
        fixture f;
        fixture_open(&f, NULL);
        f.model = make(&f);
        fixture_set(&f, "compile", off ? "off" : "on");
        fixture_plan(&f);
        if (!off)
            look(f.plan);
        fixture_instance(&f);
        for (int run = 0; run < 2; run++) { /* twice: what was overwritten in place must be written again */
            fixture_step(&f);
            as_view y = as_instance_output(f.instance, 0);
            n = (size_t)as_shape_count(&y.shape);
            expect(n <= 256);
            memcpy(values[off], y.data, n * sizeof(float));
        }
        fixture_close(&f);
    }
    for (size_t i = 0; i < n; i++)
        expect_near((double)values[0][i], (double)values[1][i], 1e-5);
}

/* relu(x W) is read twice: it may be fused, but not overwritten while one reader is left. */
static assay_model *read_twice(fixture *f)
{
    assay_model *model = NULL;
    as_maker    *m = fixture_maker(f);
    int          x = fixture_input(m, "x", 3, 8),
        y = fixture_node1(m, "Relu", "r", fixture_node2(m, "MatMul", "p", x, weight(m, "w", 8, 8)));
    int a = fixture_node1(m, "Tanh", "a", y), b = fixture_node1(m, "Neg", "b", y);
    as_maker_output(m, fixture_node2(m, "Add", "s", a, b));
    expect_ok(f->env, as_maker_finish(m, &model));
    return model;
}
static void read_twice_look(const assay_plan *plan)
{
    int y = fixture_buffer_find(plan, "r");
    expect(y >= 0);
    expect_eq(plan->buffers[y].alias_of, -1);
}
Test(passes, a_value_with_two_readers_is_not_overwritten) { both_ways(read_twice, read_twice_look); }

/* The product's own result is an output, so nothing may be fused into the product. */
static assay_model *inner_output(fixture *f)
{
    assay_model *model = NULL;
    as_maker    *m = fixture_maker(f);
    int          x = fixture_input(m, "x", 3, 8), p = fixture_node2(m, "MatMul", "p", x, weight(m, "w", 8, 8));
    as_maker_output(m, p);
    as_maker_output(m, fixture_node1(m, "Relu", "r", p));
    expect_ok(f->env, as_maker_finish(m, &model));
    return model;
}
static void inner_output_look(const assay_plan *plan) { expect_eq(steps_of(plan, "assay.FusedGemm"), 0); }
Test(passes, a_product_that_is_an_output_is_not_fused) { both_ways(inner_output, inner_output_look); }

/* x W + b, then x * sigmoid(x): one step. */
static assay_model *gated(fixture *f)
{
    assay_model *model = NULL;
    as_maker    *m = fixture_maker(f);
    int          x = fixture_input(m, "x", 5, 8), p = fixture_node2(m, "MatMul", "p", x, weight(m, "w", 8, 17));
    int          y = fixture_node2(m, "Add", "y", as_maker_param_random(m, "b", &AS_SHAPE(17), 8), p);
    as_maker_output(m, fixture_node2(m, "Mul", "z", fixture_node1(m, "Sigmoid", "g", y), y));
    expect_ok(f->env, as_maker_finish(m, &model));
    return model;
}
static void gated_look(const assay_plan *plan)
{
    expect_eq(steps_of(plan, "assay.FusedGemm"), 1);
    expect_eq(plan->n_steps - plan->n_prologue, 1);
}
Test(passes, a_bias_and_a_gate_become_one_step) { both_ways(gated, gated_look); }

/* An addend that would broadcast the product to a larger shape is not a bias. */
static assay_model *wider(fixture *f)
{
    assay_model *model = NULL;
    as_maker    *m = fixture_maker(f);
    int          x = fixture_input(m, "x", 1, 8), p = fixture_node2(m, "MatMul", "p", x, weight(m, "w", 8, 4));
    as_maker_output(m, fixture_node2(m, "Add", "y", p, weight(m, "b", 3, 4)));
    expect_ok(f->env, as_maker_finish(m, &model));
    return model;
}
static void wider_look(const assay_plan *plan) { expect_eq(steps_of(plan, "assay.FusedGemm"), 0); }
Test(passes, an_addition_that_widens_the_product_is_left) { both_ways(wider, wider_look); }

/* A chain of results with one reader each shares one place in memory. */
static assay_model *chain(fixture *f)
{
    assay_model *model = NULL;
    as_maker    *m = fixture_maker(f);
    int          x = fixture_input(m, "x", 4, 16), t = as_maker_node(m, "Transpose", "t", &x, 1, NULL, 0, NULL, 1, NULL);
    int          s = as_maker_node(m, "Softmax", "s", &t, 1, NULL, 0, NULL, 1, NULL);
    as_maker_output(m, fixture_node1(m, "Tanh", "h", fixture_node1(m, "Relu", "r", s)));
    expect_ok(f->env, as_maker_finish(m, &model));
    return model;
}
static void chain_look(const assay_plan *plan)
{
    const as_pass_note *in_place = note_of(plan, "in place");
    expect(in_place->n_changed + note_of(plan, "chain")->n_changed > 0);
}
Test(passes, a_result_takes_the_place_of_what_is_read_for_the_last_time) { both_ways(chain, chain_look); }

/* --- Pools ------------------------------------------------------------------------------------------- */

Test(passes, a_2x2_pool_goes_into_the_convolution_before_it_and_needs_no_relayout)
{
    static const char *const specs[] = {"cnn-small", "cnn-cifar"};
    for (size_t i = 0; i < 2 * AS_COUNT(specs); i++) {
        fixture f;
        fixture_open(&f, specs[i / 2]);
        fixture_set(&f, "winograd", i % 2 ? "on" : "off");
        fixture_plan(&f);
        expect_eq(steps_of(f.plan, "MaxPool"), 0);
        expect_eq(steps_of(f.plan, "assay.Relayout"), 0);
        expect_eq(steps_of(f.plan, "assay.FusedConv"), 2);
        fixture_close(&f);
    }
}

/* Conv and MaxPool with attributes, and optionally a second reader between them. */
static assay_model *pooled(fixture *f, const as_attr *attrs, int n_attrs, bool twice)
{
    assay_model *model = NULL;
    as_maker    *m = fixture_maker(f);
    as_dims      image = {.rank = 4, .dim = {{.size = 1}, {.size = 2}, {.size = 7}, {.size = 8}}};
    int          x[2] = {as_maker_input(m, "x", AS_F32, &image), as_maker_param_random(m, "w", &AS_SHAPE(4, 2, 2, 2), 8)};
    int          y = as_maker_node(m, "Conv", "c", x, 2, NULL, 0, NULL, 1, NULL);
    as_maker_output(m, as_maker_node(m, "MaxPool", "p", &y, 1, attrs, n_attrs, NULL, 1, NULL));
    if (twice)
        as_maker_output(m, fixture_node1(m, "Tanh", "t", y));
    expect_ok(f->env, as_maker_finish(m, &model));
    return model;
}

#define TWO_BY_TWO AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)
static const as_attr pool_plain[] = {TWO_BY_TWO, AS_ATTR_LIST("pads", 0, 0, 0, 0), AS_ATTR_LIST("dilations", 1, 1),
                                     AS_ATTR_S("auto_pad", "NOTSET")},
                     pool_ceil[] = {TWO_BY_TWO, AS_ATTR_I("ceil_mode", 1)},
                     pool_padded[] = {TWO_BY_TWO, AS_ATTR_LIST("pads", 0, 1, 0, 0)},
                     pool_dilated[] = {TWO_BY_TWO, AS_ATTR_LIST("dilations", 1, 2)},
                     pool_same[] = {TWO_BY_TWO, AS_ATTR_S("auto_pad", "SAME_UPPER")},
                     pool_dense[] = {AS_ATTR_LIST("kernel_shape", 2, 2)},
                     pool_wide[] = {AS_ATTR_LIST("kernel_shape", 2, 3), AS_ATTR_LIST("strides", 2, 2)};

static void pool_is_taken(const assay_plan *plan)
{
    expect_eq(steps_of(plan, "MaxPool"), 0);
    expect_eq(steps_of(plan, "assay.FusedConv"), 1);
}
static void pool_is_left(const assay_plan *plan) { expect_eq(steps_of(plan, "MaxPool"), 1); }

#define POOL(name) \
    static assay_model *name##_make(fixture *f) { return pooled(f, name, AS_COUNT(name), false); }
POOL(pool_plain)
POOL(pool_ceil)
POOL(pool_padded)
POOL(pool_dilated)
POOL(pool_same)
POOL(pool_dense)
POOL(pool_wide)
static assay_model *pool_twice_make(fixture *f) { return pooled(f, pool_plain, AS_COUNT(pool_plain), true); }

Test(passes, only_a_plain_2x2_pool_that_alone_reads_the_convolution_is_fused)
{
    both_ways(pool_plain_make, pool_is_taken);
    both_ways(pool_ceil_make, pool_is_left);
    both_ways(pool_padded_make, pool_is_left);
    both_ways(pool_dilated_make, pool_is_left);
    both_ways(pool_same_make, pool_is_left);
    both_ways(pool_dense_make, pool_is_left);
    both_ways(pool_wide_make, pool_is_left);
    both_ways(pool_twice_make, pool_is_left);
}

/* --- Editing ------------------------------------------------------------------------------------------ */

Test(passes, inserting_keeps_the_order_and_the_producers)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "compile", "off");
    fixture_plan(&f);
    as_graph *g = &f.plan->graph;
    int       n = g->n_nodes, x = g->nodes[1].in[0], value = -1;
    as_edit   edit = {.op = "Neg", .name = "minus", .in = &x, .n_in = 1, .out = -1};
    expect_ok(f.env, as_edit_insert(f.env, g, 1, &edit, &value));
    expect_eq(g->n_nodes, n + 1);
    expect_eq(g->values[value].producer, 1);
    expect_str(g->nodes[1].ctx.name, "minus");
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i].ctx.n_out; k++)
            expect_eq(g->values[g->nodes[i].out[k]].producer, i);
    expect_eq(as_edit_readers(g, value), 0);
    as_edit wrong = {.op = "NoSuchOp", .in = &x, .n_in = 1, .out = -1};
    expect_fails(f.env, as_edit_insert(f.env, g, 1, &wrong, &value), ASSAY_INTERNAL, "NoSuchOp");
    expect_eq(g->n_nodes, n + 1);
    fixture_close(&f);
}

/* --- Products of heads ------------------------------------------------------------------------------- */

static int transposed(as_maker *m, const char *name, int x, const int64_t *perm)
{
    as_attr attr = {.name = "perm", .kind = AS_ATTR_INTS, .ints = perm, .n = 4};
    return as_maker_node(m, "Transpose", name, &x, 1, &attr, 1, NULL, 1, NULL);
}

/* Scores of heads, halved, times values: four transposes and a factor around two products. */
static void attention_make(fixture *f)
{
    as_maker *m = fixture_maker(f);
    as_dims   dims = {.rank = 4, .dim = {{.size = 2}, {.size = 7}, {.size = 3}, {.size = 32}}};
    float     half = 0.5f;
    int       q = as_maker_input(m, "q", AS_F32, &dims), k = as_maker_input(m, "k", AS_F32, &dims),
        v = as_maker_input(m, "v", AS_F32, &dims);
    int scores = fixture_node2(m, "MatMul", "scores", transposed(m, "tq", q, (int64_t[]){0, 2, 1, 3}),
                               transposed(m, "tk", k, (int64_t[]){0, 2, 3, 1}));
    scores = fixture_node2(m, "Mul", "scaled", scores, as_maker_constant(m, "half", &(as_view){.data = &half, .dtype = AS_F32}));
    int mixed = fixture_node2(m, "MatMul", "mixed", scores, transposed(m, "tv", v, (int64_t[]){0, 2, 1, 3}));
    /* The rows of the product become neighbours: the operands change places. */
    as_maker_output(m, transposed(m, "flat", mixed, (int64_t[]){0, 3, 1, 2}));
    as_maker_output(m, transposed(m, "back", fixture_node1(m, "Relu", "relu", mixed), (int64_t[]){0, 2, 1, 3}));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

Test(passes, transposes_and_factors_become_part_of_products_of_heads)
{
    float *answer[2] = {0};
    for (int compiled = 0; compiled < 2; compiled++) {
        fixture f;
        fixture_open(&f, NULL);
        attention_make(&f);
        fixture_set(&f, "compile", compiled ? "on" : "off");
        fixture_plan(&f);
        fixture_instance(&f);
        fixture_step(&f);
        if (compiled) { /* `mixed` has two readers, so what follows it stays */
            expect_eq(steps_of(f.plan, "assay.FusedMatMul"), 2);
            expect_eq(steps_of(f.plan, "MatMul"), 0);
            expect_eq(steps_of(f.plan, "Transpose"), 2);
            expect_eq(note_of(f.plan, "turn")->n_changed, 4);
        }
        as_view y = as_instance_output(f.instance, 0);
        answer[compiled] = malloc(as_view_bytes(&y));
        expect(answer[compiled] != NULL);
        memcpy(answer[compiled], y.data, as_view_bytes(&y));
        fixture_close(&f);
    }
    as_shape shape = AS_SHAPE(2 * 7 * 3 * 32);
    as_view  a = as_view_of(answer[0], AS_F32, &shape), b = as_view_of(answer[1], AS_F32, &shape);
    expect(as_view_error(&a, &b) < 1e-5);
    free(answer[0]);
    free(answer[1]);
}

/* With one reader each, nothing is left around the products, and rows that become neighbours are columns of the swapped product. */
Test(passes, a_product_is_turned_over_when_its_rows_become_neighbours)
{
    float *answer[2] = {0};
    for (int compiled = 0; compiled < 2; compiled++) {
        fixture f;
        as_dims a_dims = {.rank = 4, .dim = {{.size = 2}, {.size = 3}, {.size = 40}, {.size = 7}}};
        as_dims b_dims = {.rank = 4, .dim = {{.size = 2}, {.size = 3}, {.size = 7}, {.size = 19}}};
        fixture_open(&f, NULL);
        as_maker *m = fixture_maker(&f);
        int y = fixture_node2(m, "MatMul", "p", as_maker_input(m, "a", AS_F32, &a_dims), as_maker_input(m, "b", AS_F32, &b_dims));
        as_maker_output(m, transposed(m, "t", y, (int64_t[]){0, 3, 1, 2}));
        expect_ok(f.env, as_maker_finish(m, &f.model));
        fixture_set(&f, "compile", compiled ? "on" : "off");
        fixture_plan(&f);
        fixture_instance(&f);
        fixture_step(&f);
        expect_eq(steps_of(f.plan, "Transpose"), compiled ? 0 : 1);
        as_view out = as_instance_output(f.instance, 0);
        answer[compiled] = malloc(as_view_bytes(&out));
        expect(answer[compiled] != NULL);
        memcpy(answer[compiled], out.data, as_view_bytes(&out));
        fixture_close(&f);
    }
    as_shape shape = AS_SHAPE(2 * 3 * 40 * 19);
    as_view  a = as_view_of(answer[0], AS_F32, &shape), b = as_view_of(answer[1], AS_F32, &shape);
    expect(as_view_error(&a, &b) < 1e-5);
    free(answer[0]);
    free(answer[1]);
}

/* graph_test.c - binding symbols and shapes, and the reference evaluation of a whole graph. */
#include "tests/runner/test.h"

#include "model/test_support.h"

static assay_model *example(assay_env *env, const char *name)
{
    char         path[512];
    assay_model *model = NULL;
    expect_ok(env, assay_model_load(env, test_example(path, sizeof path, name), NULL, &model));
    return model;
}

/* tiny-mlp.json bound to batch size 2. */
typedef struct bound {
    assay_env   *env;
    assay_model *model;
    test_run     t;
} bound;

static void tiny_mlp_open(bound *b)
{
    b->env = test_env();
    b->model = example(b->env, "tiny-mlp.json");
    test_bind(b->env, b->model, 2, &b->t);
}

static void bound_close(bound *b)
{
    as_arena_drop(&b->t.arena);
    assay_model_free(b->model);
    assay_env_free(b->env);
}

Test(graph, evaluates_a_tiny_mlp_as_by_hand)
{
    bound b;
    tiny_mlp_open(&b);
    const float x[] = {1, 2, -1, 0.5f};
    memcpy(b.t.inputs[0].data, x, sizeof x);
    expect_ok(b.env, as_graph_eval(b.env, &b.t.graph, b.t.inputs, b.t.outputs));
    /* Row 1: relu([2.5, 1, -2.5]) = [2.5, 1, 0]; row 2: relu([-0.25, 1.5, -0.5]) = [0, 1.5, 0]. */
    const double y[] = {1.5, 2.25, -1.5, 2};
    for (int i = 0; i < 4; i++)
        expect_near(as_view_get(&b.t.outputs[0], i), y[i], 0);
    bound_close(&b);
}

Test(graph, fills_the_context_of_every_node)
{
    assay_env   *env = test_env();
    assay_model *model = example(env, "tiny-cnn.json");
    test_run     t;
    test_bind(env, model, 3, &t);
    const as_graph *g = &t.graph;
    expect_eq(g->n_nodes, 5);
    for (int i = 0; i < g->n_nodes; i++) {
        expect_eq(g->nodes[i].ctx.node_id, i);
        expect_eq(g->nodes[i].ctx.seed, 1);
        expect(!g->nodes[i].dead);
        expect_str(g->nodes[i].ctx.name, model->nodes[i].name);
        expect(as_shape_same(&g->nodes[i].ctx.out[0].shape, &g->values[g->nodes[i].out[0]].info.shape));
    }
    expect(as_shape_same(&g->nodes[0].ctx.out[0].shape, &AS_SHAPE(3, 4, 8, 8)));
    expect(as_shape_same(&g->nodes[3].ctx.in[0].shape, &AS_SHAPE(3, 4, 4, 4)));
    expect(as_shape_same(&g->nodes[3].ctx.out[0].shape, &AS_SHAPE(3, 64)));
    expect(g->nodes[3].ctx.in[1].constant != NULL);
    expect(g->nodes[0].ctx.in[1].constant == NULL);
    expect_eq(g->nodes[0].ctx.in[1].dtype, AS_F32);
    expect_ok(env, as_graph_eval(env, g, t.inputs, t.outputs));
    as_arena_drop(&t.arena);
    assay_model_free(model);
    assay_env_free(env);
}

static void expect_bind_fails(const char *text, const as_binding_dim *dims, int n, const char *sentence)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    as_arena     arena = {0};
    as_graph     g = {.n_nodes = 77};
    expect_ok(env, test_parse(env, text, &model));
    expect_fails(env, as_graph_bind(env, model, dims, n, NULL, 0, 1, &arena, &g), ASSAY_BAD_INPUT, sentence);
    expect_eq(g.n_nodes, 77);
    as_arena_drop(&arena);
    assay_model_free(model);
    assay_env_free(env);
}

#define TANH "{\"op\":\"Tanh\",\"name\":\"t\",\"in\":[\"x\"],\"out\":[\"y\"]}"

Test(graph, names_a_symbol_without_a_size)
{
    expect_bind_fails(
        MODEL(X_F64("[\"batch\",\"time\"]"), "", TANH, "\"y\""), &(as_binding_dim){"batch", 2}, 1,
        "model: t: input 'x' has the dimension 'time' (axis 1), which is not bound to a size; give one, as in --dim time=8");
}

Test(graph, lists_its_symbols_when_asked_for_another)
{
    expect_bind_fails(MODEL(X_F64("[\"batch\",\"time\",\"batch\"]"), "", TANH, "\"y\""), &(as_binding_dim){"bach", 2}, 1,
                      "model: t: it has no dimension 'bach'; its dimensions: 'batch', 'time'");
    expect_bind_fails(MODEL(X_F64("[3]"), "", TANH, "\"y\""), &(as_binding_dim){"batch", 2}, 1, "its dimensions: none");
}

Test(graph, refuses_sizes_that_make_no_sense)
{
    expect_bind_fails(MODEL(X_F64("[\"batch\"]"), "", TANH, "\"y\""), &(as_binding_dim){"batch", 0}, 1,
                      "dimension 'batch' is bound to 0 and must be at least 1");
    expect_bind_fails(MODEL(X_F64("[\"batch\"]"), "", TANH, "\"y\""), (as_binding_dim[]){{"batch", 2}, {"batch", 3}}, 2,
                      "dimension 'batch' is bound to 2 and to 3");
    expect_bind_fails(MODEL(X_F64("[\"batch\",1152921504606846975]"), "", TANH, "\"y\""), &(as_binding_dim){"batch", 1 << 20}, 1,
                      "input 'x' would be f64 [1048576,1152921504606846975], which is too large");
}

Test(graph, names_the_node_whose_shapes_do_not_fit)
{
    expect_bind_fails(MODEL(X_F64("[\"batch\",3]"), P_F64("w", "[4,5]"),
                            "{\"op\":\"Gemm\",\"name\":\"fc\",\"in\":[\"x\",\"w\"],\"out\":[\"y\"]}", "\"y\""),
                      &(as_binding_dim){"batch", 2}, 1, "model: t: Gemm 'fc': A is [2,3] and B is [4,5]");
}

Test(graph, evaluates_outputs_that_are_inputs_and_params)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    test_run     t;
    expect_ok(env, test_parse(env, MODEL(X_F64("[3]"), P_F64("p", "[2]"), "", "\"x\",\"p\""), &model));
    test_bind(env, model, 0, &t);
    expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
    expect_near(as_view_error(&t.outputs[0], &t.inputs[0]), 0, 0);
    expect_near(as_view_get(&t.outputs[1], 1), ((const double *)model->values[1].data)[1], 0);
    as_arena_drop(&t.arena);
    assay_model_free(model);
    assay_env_free(env);
}

Test(graph, refuses_views_of_another_shape_or_dtype)
{
    bound b;
    tiny_mlp_open(&b);
    as_view given = b.t.inputs[0];
    b.t.inputs[0].shape = AS_SHAPE(1, 2);
    expect_fails(b.env, as_graph_eval(b.env, &b.t.graph, b.t.inputs, b.t.outputs), ASSAY_BAD_INPUT,
                 "evaluate: input 'x' is f32 [2,2] and was given as f32 [1,2]");
    b.t.inputs[0] = given;
    b.t.outputs[0].dtype = AS_I32;
    expect_fails(b.env, as_graph_eval(b.env, &b.t.graph, b.t.inputs, b.t.outputs), ASSAY_BAD_INPUT,
                 "evaluate: output 'y' is f32 [2,2] and was given as i32 [2,2]");
    bound_close(&b);
}

Test(graph, stops_when_cancelled)
{
    bound b;
    tiny_mlp_open(&b);
    assay_cancel(b.env);
    expect_fails(b.env, as_graph_eval(b.env, &b.t.graph, b.t.inputs, b.t.outputs), ASSAY_CANCELLED,
                 "Gemm 'fc1': stopped before it was computed");
    bound_close(&b);
}

Test(graph, says_so_when_a_pass_took_away_what_is_read)
{
    bound b;
    tiny_mlp_open(&b);
    b.t.graph.nodes[0].dead = true;
    expect_fails(b.env, as_graph_eval(b.env, &b.t.graph, b.t.inputs, b.t.outputs), ASSAY_INTERNAL,
                 "node 'relu1' reads 'fc1' before it is computed");
    for (int i = 0; i < b.t.graph.n_nodes; i++)
        b.t.graph.nodes[i].dead = true;
    expect_fails(b.env, as_graph_eval(b.env, &b.t.graph, b.t.inputs, b.t.outputs), ASSAY_INTERNAL,
                 "nothing computes the output 'y'");
    bound_close(&b);
}

Test(graph, grows_by_values_that_passes_add)
{
    bound b;
    tiny_mlp_open(&b);
    int n = b.t.graph.n_values;
    for (int i = 0; i < 100; i++)
        expect_eq(as_graph_add_value(&b.t.graph, &b.t.graph.values[0]), n + i);
    expect_str(b.t.graph.values[n + 99].name, "x");
    bound_close(&b);
}

Test(graph, draws_inputs_by_seed_and_name_alike_in_every_layout)
{
    float   a[60], b[60], c[60], d[60];
    double  wide[60];
    int64_t whole[60];
    as_view va = as_view_of(a, AS_F32, &AS_SHAPE(6, 10)), vb = as_view_of(b, AS_F32, &AS_SHAPE(6, 10)),
            vc = as_view_of(c, AS_F32, &AS_SHAPE(6, 10));
    as_view vd = as_view_of(d, AS_F32, &AS_SHAPE(6, 10)), vw = as_view_of(wide, AS_F64, &AS_SHAPE(6, 10)),
            vi = as_view_of(whole, AS_I64, &AS_SHAPE(60));
    vd.stride[0] = 1, vd.stride[1] = 6; /* columns first */
    as_random_input(3, "x", &va);
    as_random_input(4, "x", &vb);
    as_random_input(3, "z", &vc);
    as_random_input(3, "x", &vd);
    as_random_input(3, "x", &vw);
    as_random_input(3, "x", &vi);
    expect(memcmp(a, b, sizeof a) && memcmp(a, c, sizeof a));
    expect_near(as_view_error(&vd, &va), 0, 0);
    expect_near(as_view_error(&vw, &va), 0, 0);
    int seen = 0;
    for (int i = 0; i < 60; i++) {
        expect(a[i] >= -1 && a[i] < 1);
        expect(whole[i] >= 0 && whole[i] < 10);
        seen |= 1 << whole[i];
    }
    expect(seen & 1 && seen & 1 << 9);
}

/* --- Inputs that shapes depend on ------------------------------------------------------------------ */

#define I64_INPUT(name_, shape_) "{\"name\":\"" name_ "\",\"dtype\":\"i64\",\"shape\":" shape_ "}"
#define RESHAPED                                                                      \
    MODEL(X_F64("[6]") "," I64_INPUT("s", "[2]"), "",                                 \
          "{\"op\":\"Neg\",\"name\":\"n\",\"in\":[\"s\"],\"out\":[\"m\"]},"           \
          "{\"op\":\"Neg\",\"name\":\"p\",\"in\":[\"m\"],\"out\":[\"t\"]},"           \
          "{\"op\":\"Reshape\",\"name\":\"r\",\"in\":[\"x\",\"t\"],\"out\":[\"y\"]}", \
          "\"y\"")

static assay_status bind_known(assay_env *env, const char *text, const as_known_input *known, int n, as_arena *arena, as_graph *g)
{
    assay_model *model = NULL;
    expect_ok(env, test_parse(env, text, &model));
    assay_status status = as_graph_bind(env, model, NULL, 0, known, n, 1, arena, g);
    if (status == ASSAY_OK) { /* names belong to the model */
        expect_str(g->values[g->inputs[1]].name, "s");
    }
    assay_model_free(model);
    return status;
}

Test(graph, knows_the_inputs_that_shapes_are_computed_from)
{
    assay_env           *env = test_env();
    as_arena             arena = {0};
    as_graph             g;
    int64_t              sizes[] = {3, 2};
    double               x[6] = {0};
    const as_known_input known[] = {{"s", as_view_of(sizes, AS_I64, &AS_SHAPE(2)), "s.npy"},
                                    {"x", as_view_of(x, AS_F64, &AS_SHAPE(6)), "x.npy"}};
    expect_ok(env, bind_known(env, RESHAPED, known, 2, &arena, &g));
    expect(as_shape_same(&g.values[g.outputs[0]].info.shape, &AS_SHAPE(3, 2)));
    expect(g.values[g.inputs[1]].info.constant && g.values[g.inputs[1]].info.constant != sizes);
    expect(!g.values[g.inputs[0]].info.constant); /* no shape depends on it, so its values are not fixed */
    expect(g.nodes[0].dead && g.nodes[1].dead && !g.nodes[2].dead);
    expect_eq(g.values[g.inputs[1]].role, AS_ROLE_INPUT);
    as_arena_drop(&arena);
    assay_env_free(env);
}

Test(graph, names_the_input_that_must_be_given)
{
    assay_env           *env = test_env();
    as_arena             arena = {0};
    as_graph             g;
    int64_t              sizes[] = {3, 2, 1};
    float                real[2] = {0};
    const as_known_input longer = {"s", as_view_of(sizes, AS_I64, &AS_SHAPE(3)), "s.npy"},
                         other = {"z", as_view_of(sizes, AS_I64, &AS_SHAPE(2)), "s.npy"},
                         floats = {"s", as_view_of(real, AS_F32, &AS_SHAPE(2)), "f.npy"};
    expect_fails(env, bind_known(env, RESHAPED, NULL, 0, &arena, &g), ASSAY_BAD_INPUT,
                 "Reshape 'r': shape (input 1) must be known while planning; give the values of the input 's' (--input s=FILE)");
    expect_fails(env, bind_known(env, RESHAPED, &longer, 1, &arena, &g), ASSAY_BAD_INPUT,
                 "input 's': s.npy has [3], the model needs [2]");
    expect_fails(env, bind_known(env, RESHAPED, &floats, 1, &arena, &g), ASSAY_BAD_INPUT,
                 "input 's': f.npy has f32, the model needs i64");
    expect_fails(env, bind_known(env, RESHAPED, &other, 1, &arena, &g), ASSAY_BAD_INPUT, "it has no input 'z'");
    as_arena_drop(&arena);
    assay_env_free(env);
}

Test(graph, a_shape_alone_fixes_no_input)
{
    assay_env           *env = test_env();
    as_arena             arena = {0};
    as_graph             g;
    int64_t              values[6] = {0};
    const as_known_input known = {"s", as_view_of(values, AS_I64, &AS_SHAPE(2, 3)), "s.npy"};
    expect_ok(env, bind_known(env,
                              MODEL(X_F64("[6]") "," I64_INPUT("s", "[2,3]"), "",
                                    "{\"op\":\"Shape\",\"name\":\"n\",\"in\":[\"s\"],\"out\":[\"t\"]},"
                                    "{\"op\":\"Reshape\",\"name\":\"r\",\"in\":[\"x\",\"t\"],\"out\":[\"y\"]}",
                                    "\"y\""),
                              &known, 1, &arena, &g));
    expect(!g.values[g.inputs[1]].info.constant);
    expect(as_shape_same(&g.values[g.outputs[0]].info.shape, &AS_SHAPE(2, 3)));
    as_arena_drop(&arena);
    assay_env_free(env);
}

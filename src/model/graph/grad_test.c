/* grad_test.c - gradients of whole models against finite differences in f64. */
#include "tests/runner/test.h"

#include "model/test_support.h"

/* sum(d:y * y): a scalar whose gradient by any input or param the gradient model computes. */
static double loss(assay_env *env, test_run *t, const as_view *d)
{
    double sum = 0;
    expect_ok(env, as_graph_eval(env, &t->graph, t->inputs, t->outputs));
    for (int o = 0; o < t->graph.n_outputs; o++)
        for (int64_t i = 0; i < as_shape_count(&t->outputs[o].shape); i++)
            sum += as_view_get(&t->outputs[o], i) * as_view_get(&d[o], i);
    return sum;
}

static as_view value_view(test_run *t, const char *name)
{
    for (int i = 0; i < t->graph.n_inputs; i++)
        if (!strcmp(t->graph.values[t->graph.inputs[i]].name, name))
            return t->inputs[i];
    for (int i = 0; i < t->graph.n_values; i++)
        if (!strcmp(t->graph.values[i].name, name)) /* a model's data is const to all but this test */
            return as_view_of((void *)(uintptr_t)t->graph.values[i].data, t->graph.values[i].info.dtype,
                              &t->graph.values[i].info.shape);
    fail("no value %s", name);
}

/* Every element of every listed value, moved by h to both sides. */
static void expect_gradient(const char *text, int64_t batch, const char *const *wrt, int n_wrt)
{
    assay_env     *env = test_env();
    assay_model   *model = NULL, *back = NULL;
    test_run       t, b;
    as_binding_dim dim = {"batch", batch};
    expect_ok(env, test_parse(env, text, &model));
    test_bind(env, model, batch, &t);
    expect_ok(env, as_model_grad(env, model, &dim, batch > 0, wrt, n_wrt, &back));
    test_bind(env, back, 0, &b);
    expect_eq(b.graph.n_inputs, t.graph.n_inputs + t.graph.n_outputs);
    expect_eq(b.graph.n_outputs, n_wrt);
    for (int i = 0; i < t.graph.n_inputs; i++)
        as_view_copy(&b.inputs[i], &t.inputs[i]);
    expect_ok(env, as_graph_eval(env, &b.graph, b.inputs, b.outputs));
    const as_view *d = &b.inputs[t.graph.n_inputs];
    for (int w = 0; w < n_wrt; w++) {
        as_view v = value_view(&t, wrt[w]);
        char    name[64];
        snprintf(name, sizeof name, "d:%s", wrt[w]);
        expect_str(b.graph.values[b.graph.outputs[w]].name, name);
        expect(as_shape_same(&v.shape, &b.outputs[w].shape));
        for (int64_t i = 0; i < as_shape_count(&v.shape); i++) {
            const double h = 1e-5;
            double       x = as_view_get(&v, i);
            as_view_set(&v, i, x + h);
            double up = loss(env, &t, d);
            as_view_set(&v, i, x - h);
            double down = loss(env, &t, d), want = (up - down) / (2 * h);
            as_view_set(&v, i, x);
            if (!(fabs(as_view_get(&b.outputs[w], i) - want) <= 1e-6 * (1 + fabs(want))))
                fail("%s[%d] is %.12g, finite differences say %.12g", name, (int)i, as_view_get(&b.outputs[w], i), want);
        }
    }
    as_arena_drop(&t.arena);
    as_arena_drop(&b.arena);
    assay_model_free(back);
    assay_model_free(model);
    assay_env_free(env);
}

#define NODE(op_, in_, out_, attrs_) "{\"op\":\"" op_ "\",\"in\":[" in_ "],\"out\":[" out_ "],\"attrs\":{" attrs_ "}}"
#define MLP(last_)                                               \
    NODE("Gemm", "\"x\",\"w1\",\"b1\"", "\"h\"", "\"transB\":1") \
    "," NODE("Relu", "\"h\"", "\"r\"", "") "," NODE("Gemm", "\"r\",\"w2\",\"b2\"", "\"" last_ "\"", "\"transB\":1")
#define MLP_PARAMS P_F64("w1", "[5,4]") "," P_F64("b1", "[5]") "," P_F64("w2", "[3,5]") "," P_F64("b2", "[3]")

Test(grad, of_a_tiny_mlp_agrees_with_finite_differences)
{
    expect_gradient(MODEL(X_F64("[\"batch\",4]"), MLP_PARAMS, MLP("y"), "\"y\""), 3, (const char *[]){"x", "w1", "b1", "w2", "b2"},
                    5);
}

Test(grad, of_a_tiny_mlp_with_softmax_and_tanh_agrees)
{
    expect_gradient(MODEL(X_F64("[\"batch\",4]"), MLP_PARAMS,
                          MLP("z") "," NODE("Softmax", "\"z\"", "\"s\"", "\"axis\":1") "," NODE("Tanh", "\"s\"", "\"y\"", ""),
                          "\"y\""),
                    2, (const char *[]){"w1", "b2"}, 2);
}

Test(grad, of_a_tiny_cnn_agrees_with_finite_differences)
{
    expect_gradient(
        MODEL(X_F64("[\"batch\",1,6,6]"),
              P_F64("cw", "[2,1,3,3]") "," P_F64("cb", "[2]") "," P_F64("w", "[3,18]") "," P_F64("b", "[3]"),
              NODE("Conv", "\"x\",\"cw\",\"cb\"", "\"c\"", "\"pads\":[1,1,1,1]") "," NODE("Relu", "\"c\"", "\"r\"", "") "," NODE(
                  "MaxPool", "\"r\"", "\"p\"",
                  "\"kernel_shape\":[2,2],\"strides\":[2,2]") "," NODE("Flatten", "\"p\"", "\"f\"",
                                                                       "") "," NODE("Gemm", "\"f\",\"w\",\"b\"", "\"y\"",
                                                                                    "\"transB\":1"),
              "\"y\""),
        2, (const char *[]){"x", "cw", "cb", "w", "b"}, 5);
}

Test(grad, adds_up_over_all_uses_of_a_value)
{
    /* y = x*x + x and z = tanh(x): three uses and two outputs. */
    expect_gradient(MODEL(X_F64("[5]"), "",
                          NODE("Mul", "\"x\",\"x\"", "\"q\"", "") "," NODE("Add", "\"q\",\"x\"", "\"y\"",
                                                                           "") "," NODE("Tanh", "\"x\"", "\"z\"", ""),
                          "\"y\",\"z\""),
                    0, (const char *[]){"x"}, 1);
}

Test(grad, sums_over_axes_that_were_broadcast)
{
    expect_gradient(MODEL(X_F64("[3,4]"), P_F64("p", "[4]") "," P_F64("q", "[3,1]"),
                          NODE("Mul", "\"x\",\"p\"", "\"a\"", "") "," NODE("Add", "\"a\",\"q\"", "\"y\"", ""), "\"y\""),
                    0, (const char *[]){"p", "q", "x"}, 3);
}

Test(grad, goes_on_through_an_output_that_is_also_used)
{
    expect_gradient(
        MODEL(X_F64("[3]"), "", NODE("Tanh", "\"x\"", "\"y\"", "") "," NODE("Mul", "\"y\",\"y\"", "\"z\"", ""), "\"y\",\"z\""), 0,
        (const char *[]){"x"}, 1);
}

Test(grad, gives_each_value_an_output_of_its_own_when_one_gradient_serves_two)
{
    expect_gradient(MODEL(X_F64("[3]"), P_F64("p", "[3]"), NODE("Add", "\"x\",\"p\"", "\"y\"", ""), "\"y\""), 0,
                    (const char *[]){"x", "p"}, 2);
    expect_gradient(MODEL(X_F64("[3]"), P_F64("p", "[3]"),
                          NODE("Add", "\"x\",\"p\"", "\"a\"", "") "," NODE("Tanh", "\"a\"", "\"y\"", ""), "\"y\""),
                    0, (const char *[]){"p", "x"}, 2);
}

Test(grad, is_zero_for_what_has_no_influence)
{
    expect_gradient(MODEL(X_F64("[3]"), P_F64("p", "[2,2]"), NODE("Tanh", "\"x\"", "\"y\"", ""), "\"y\""), 0,
                    (const char *[]){"p", "x"}, 2);
}

Test(grad, leaves_out_nodes_that_nobody_reads)
{
    assay_env   *env = test_env();
    assay_model *model = NULL, *back = NULL;
    expect_ok(env, test_parse(env, MODEL(X_F64("[2,4]"), MLP_PARAMS, MLP("y"), "\"y\""), &model));
    expect_ok(env, as_model_grad(env, model, NULL, 0, (const char *[]){"b2"}, 1, &back));
    /* d:b2 is the sum of d:y over the rows and needs neither the forward pass nor the other gradients. */
    for (int i = 0; i < back->n_nodes; i++)
        expect(strcmp(back->nodes[i].op->name, "Gemm") != 0);
    expect_str(back->name, "t:grad");
    assay_model_free(back);
    assay_model_free(model);
    assay_env_free(env);
}

static void expect_grad_fails(const char *text, const char *const *wrt, int n_wrt, assay_status status, const char *sentence)
{
    assay_env   *env = test_env();
    assay_model *model = NULL, *back = NULL;
    expect_ok(env, test_parse(env, text, &model));
    expect_fails(env, as_model_grad(env, model, NULL, 0, wrt, n_wrt, &back), status, sentence);
    expect(!back);
    assay_model_free(model);
    assay_env_free(env);
}

#define TANH    MODEL(X_F64("[3]"), "", NODE("Tanh", "\"x\"", "\"y\"", ""), "\"y\"")
#define WHOLE_X "{\"name\":\"x\",\"dtype\":\"i32\",\"shape\":[3]}"

Test(grad, refuses_what_it_cannot_differentiate_by)
{
    expect_grad_fails(TANH, (const char *[]){"w"}, 1, ASSAY_NOT_FOUND, "gradient: model t has no input or parameter 'w'");
    expect_grad_fails(TANH, (const char *[]){"y"}, 1, ASSAY_NOT_FOUND, "gradient: model t has no input or parameter 'y'");
    expect_grad_fails(TANH, NULL, 0, ASSAY_BAD_INPUT, "gradient: model t: no input or parameter is listed");
    expect_grad_fails(TANH, (const char *[]){"x", "x"}, 2, ASSAY_BAD_INPUT, "gradient: model t: 'x' is listed twice");
    expect_grad_fails(MODEL(WHOLE_X, P_F64("p", "[2]"), NODE("Add", "\"x\",\"x\"", "\"y\"", ""), "\"y\""), (const char *[]){"x"}, 1,
                      ASSAY_BAD_INPUT, "gradient: 'x' of model t is i32, and only floats have a gradient");
    expect_grad_fails(MODEL(WHOLE_X, P_F64("p", "[2]"), NODE("Add", "\"x\",\"x\"", "\"y\"", ""), "\"y\""), (const char *[]){"p"}, 1,
                      ASSAY_BAD_INPUT, "model: t:grad: no output is of a float dtype");
    expect_grad_fails(MODEL(X_F64("[3]"), "", "", "\"x\""), (const char *[]){"x"}, 1, ASSAY_BAD_INPUT,
                      "the gradient of 'x' needs the name 'd:x', which is taken");
}

Test(grad, names_the_node_whose_operator_has_none)
{
    const as_op *without = NULL;
    for (const as_op *const *op = as_op_table; *op && !without; op++)
        if (!(*op)->grad && !strcmp((*op)->name, "assay.ReluGrad"))
            without = *op;
    if (!without)
        skip("every operator has a gradient here");
    char text[1024], part[256];
    snprintf(text, sizeof text,
             MODEL(X_F64("[3]"), P_F64("p", "[3]"), "{\"op\":\"%s\",\"name\":\"n\",\"in\":[\"p\",\"x\"],\"out\":[\"y\"]}", "\"y\""),
             without->name);
    snprintf(part, sizeof part, "node 'n': the operator %s has no gradient", without->name);
    expect_grad_fails(text, (const char *[]){"x"}, 1, ASSAY_UNSUPPORTED, part);
}

/* op_rnn.c - the plain recurrent layer: h' = f(X * W^T + h * R^T + Wb + Rb). */
#include "op/cell/recurrent.h"

static const as_attr_def attrs[] = {
    {.name = "activation_alpha", .kind = AS_ATTR_FLOATS},
    {.name = "activation_beta", .kind = AS_ATTR_FLOATS},
    {.name = "activations", .kind = AS_ATTR_TEXTS},
    {.name = "clip", .kind = AS_ATTR_FLOAT},
    {.name = "direction", .kind = AS_ATTR_TEXT},
    {.name = "hidden_size", .kind = AS_ATTR_INT},
    {.name = "layout", .kind = AS_ATTR_INT},
    {0},
};

static void step(const as_cell_step *s)
{
    for (int64_t k = 0; k < s->r->n_hidden; k++)
        s->h_next[k] = as_cell_act(s, 0, s->xw[k] + s->rb[k] + as_cell_recur(s, k, s->h), 0, k);
}

static void back(as_cell_back *b)
{
    int64_t hidden = b->s->r->n_hidden;
    for (int64_t k = 0; k < hidden; k++) {
        b->d_x[k] = b->d_r[k] = b->d_h[k] * b->s->slopes[k];
        b->d_h[k] = 0.0;
    }
    as_cell_recur_back(b->s, 0, 1, b->d_r, b->d_h);
}

static const char *const acts[] = {"Tanh"};
const as_cell            as_cell_rnn = {.n_gates = 1, .n_acts = 1, .acts = acts, .flops_a_unit = 1, .step = step, .back = back};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_recurrent_infer(env, n, &as_cell_rnn, out);
}
static as_cost      cost(const as_node_ctx *n) { return as_recurrent_cost(n, &as_cell_rnn); }
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_recurrent_eval(env, n, &as_cell_rnn, in, out);
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    return as_recurrent_grad(b, n, &as_cell_rnn, "assay.RNNGrad", in, out, d_out, d_in);
}
static int grad_outs(const as_node_ctx *n) { return as_recurrent_grad_outs(n, &as_cell_rnn); }

static const as_case cases[] = {
    /* Values from ONNX Runtime 1.31.1 on the CPU; the inputs are multiples of 1/16. */
    {.name = "defaults as ONNX Runtime's",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 1, 2), AS_IN(F32, 1, 2, 2), AS_IN(F32, 1, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("hidden_size", 2)},
     .given = (const double[]){0.625, -0.875, -0.6875, -0.5625, -0.6875, 0.625, 0.75, 0.1875, -0.9375, -0.8125, -0.375, -0.125},
     .want = (const double[]){-0.75157398, 0.29559648, 0.52666748, -0.35940552},
     .n_want = 4},
    {.name = "both ways, lengths and states as ONNX Runtime's",
     .n_in = 6,
     .in = {AS_IN(F32, 3, 2, 1),
            AS_IN(F32, 2, 2, 1),
            AS_IN(F32, 2, 2, 2),
            AS_IN(F32, 2, 4),
            {.dtype = AS_I32, .shape = AS_SHAPE(2), .ints = (const int64_t[]){3, 1}},
            AS_IN(F32, 2, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 2), AS_ATTR_S("direction", "bidirectional")},
     .given = (const double[]){0.25,    -0.0625, -0.5,   -0.6875, 0.375,   0.5, -0.9375, -0.8125, -0.125, -0.25,   0.8125, 0.0625,
                               -0.1875, -0.125,  0.3125, 0.1875,  -0.6875, 0.5, 0.5,     0.9375,  0.5625, -0.4375, -0.375, 0.3125,
                               0.3125,  0.375,   0.75,   -0.4375, 0.875,   -1,  -0.875,  1,       0.9375, -0.4375},
     .want = (const double[]){0.88752723, 0.20786357,   0.94355798, 0.4712832, 0.10811293,  0.75748658, 0.15499079, -0.15880078,
                              0.97868371, 0.61308897,   0,          0,         0.11450374,  0.88802516, 0,          0,
                              0.91286278, -0.064736187, 0,          0,         -0.19286633, 0.93482053, 0,          0},
     .n_want = 24},
    {.name = "backward, short sequence as ONNX Runtime's",
     .n_in = 5,
     .in = {AS_IN(F32, 3, 2, 2),
            AS_IN(F32, 1, 1, 2),
            AS_IN(F32, 1, 1, 1),
            AS_IN(F32, 1, 2),
            {.dtype = AS_I32, .shape = AS_SHAPE(2), .ints = (const int64_t[]){2, 3}}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 1), AS_ATTR_S("direction", "reverse")},
     .given = (const double[]){-0.75, -0.375, -0.9375, 0.8125, 0.3125, 0.1875, -0.5, -0.0625, -0.625, 0.5625, -0.0625, -0.9375,
                               -0.5, 0.4375, 0.0625, -0.25, -0.5},
     .want = (const double[]){-0.52368045, 0.041618586, -0.67735952, -0.52121687, 0, -0.81064463},
     .n_want = 6},
    {.name = "activations and clip as ONNX Runtime's",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 1, 2), AS_IN(F32, 1, 2, 2), AS_IN(F32, 1, 2, 2), AS_IN(F32, 1, 4)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("hidden_size", 2),
               AS_ATTR_TEXT_LIST("activations", "LeakyRelu"),
               {.name = "activation_alpha", .kind = AS_ATTR_FLOATS, .floats = (const double[]){0.25}, .n = 1},
               AS_ATTR_F("clip", 0.75)},
     .given = (const double[]){-0.875, 0.25, 0.3125, 0.0625, 0.875, 0.875, -0.625, 0.25, 0.25, -0.5, -0.4375, 0, 0.5, -0.4375,
                               0.4375, 0.3125},
     .want = (const double[]){0.390625, 0.484375, 0.75, -0.11889648},
     .n_want = 4},
    {.name = "18 units, rectified",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 5, 4), AS_IN(F32, 1, 18, 4), AS_IN(F32, 1, 18, 18), AS_IN(F32, 1, 36)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_TEXT_LIST("activations", "Relu")},
     .no_grad = true},
    AS_CASES_RECURRENT(1),
};

const as_op as_op_rnn = {
    .name = "RNN",
    .min_in = 3,
    .max_in = 6,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .grad_outs = grad_outs,
    .tolerance = 1e-4,
    .outs_optional = true,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* f32 rounding is carried from step to step */
};

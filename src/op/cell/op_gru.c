/* op_gru.c - gated recurrent unit, gates z (update), r (reset), h (hidden):
 *     z = f(X * Wz^T + H * Rz^T + b), r = f(X * Wr^T + H * Rr^T + b), h' = (1 - z) * g(...) + z * h
 * where linear_before_reset decides whether the reset gate comes after the product with Rh or before it. */
#include "op/cell/recurrent.h"

static const as_attr_def attrs[] = {
    {.name = "activation_alpha", .kind = AS_ATTR_FLOATS},
    {.name = "activation_beta", .kind = AS_ATTR_FLOATS},
    {.name = "activations", .kind = AS_ATTR_TEXTS},
    {.name = "clip", .kind = AS_ATTR_FLOAT},
    {.name = "direction", .kind = AS_ATTR_TEXT},
    {.name = "hidden_size", .kind = AS_ATTR_INT},
    {.name = "layout", .kind = AS_ATTR_INT},
    {.name = "linear_before_reset", .kind = AS_ATTR_INT},
    {0},
};

static bool linear_first(const as_cell_step *s) { return as_attr_int(s->n, "linear_before_reset", 0) != 0; }

static void step(const as_cell_step *s)
{
    int64_t hidden = s->r->n_hidden;
    double *z = s->kept, *r = z + hidden, *h = r + hidden, *q = h + hidden;
    for (int64_t k = 0, row = hidden; k < hidden; k++, row++)
        r[k] = as_cell_act(s, 0, s->xw[row] + s->rb[row] + as_cell_recur(s, row, s->h), 1, k);
    for (int64_t k = 0; k < hidden; k++)
        q[k] = r[k] * s->h[k];
    for (int64_t k = 0, row = 2 * hidden; k < hidden; k++, row++)
        s->scratch[k] = as_cell_recur(s, row, linear_first(s) ? s->h : q) + s->rb[row];
    for (int64_t k = 0, row = 2 * hidden; k < hidden; k++, row++) {
        double past = s->scratch[k];
        z[k] = as_cell_act(s, 0, s->xw[k] + s->rb[k] + as_cell_recur(s, k, s->h), 0, k);
        h[k] = as_cell_act(s, 1, s->xw[row] + (linear_first(s) ? r[k] * past : past), 2, k);
        if (linear_first(s))
            q[k] = past;
        s->h_next[k] = (1.0 - z[k]) * h[k] + z[k] * s->h[k];
    }
}

static void back(as_cell_back *b)
{
    const as_cell_step *s = b->s;
    int64_t             hidden = s->r->n_hidden;
    const double       *z = s->kept, *r = z + hidden, *h = r + hidden, *q = h + hidden;
    double             *d_z = b->d_r, *d_r = d_z + hidden, *d_past = d_r + hidden; /* by the sums of the past */
    for (int64_t k = 0; k < hidden; k++) {
        double d = b->d_h[k], d_new = d * (1.0 - z[k]) * s->slopes[2 * hidden + k];
        d_z[k] = d * (s->h[k] - h[k]) * s->slopes[k];
        b->d_x[2 * hidden + k] = d_new;
        d_past[k] = linear_first(s) ? d_new * r[k] : d_new;
        d_r[k] = d_new * q[k] * s->slopes[hidden + k]; /* with the reset after the product */
        b->d_h[k] = d * z[k];
        s->scratch[k] = 0.0;
    }
    if (linear_first(s)) {
        as_cell_recur_back(s, 0, 3, b->d_r, b->d_h);
    } else {
        as_cell_recur_back(s, 2, 3, b->d_r, s->scratch); /* by r * h */
        for (int64_t k = 0; k < hidden; k++) {
            d_r[k] = s->scratch[k] * s->h[k] * s->slopes[hidden + k];
            b->d_h[k] += s->scratch[k] * r[k];
        }
        as_cell_recur_back(s, 0, 2, b->d_r, b->d_h);
        b->past[2] = q;
    }
    for (int64_t k = 0; k < 2 * hidden; k++)
        b->d_x[k] = b->d_r[k];
}

static const char *const acts[] = {"Sigmoid", "Tanh"};
const as_cell as_cell_gru = {.n_gates = 3, .n_acts = 2, .acts = acts, .flops_a_unit = 8, .n_stash = 4, .step = step, .back = back};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_recurrent_infer(env, n, &as_cell_gru, out);
}
static as_cost      cost(const as_node_ctx *n) { return as_recurrent_cost(n, &as_cell_gru); }
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_recurrent_eval(env, n, &as_cell_gru, in, out);
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    return as_recurrent_grad(b, n, &as_cell_gru, "assay.GRUGrad", in, out, d_out, d_in);
}
static int grad_outs(const as_node_ctx *n) { return as_recurrent_grad_outs(n, &as_cell_gru); }

static const as_case cases[] = {
    /* Values from ONNX Runtime 1.31.1 on the CPU; the inputs are multiples of 1/16. */
    {.name = "defaults as ONNX Runtime's",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 1, 2), AS_IN(F32, 1, 6, 2), AS_IN(F32, 1, 6, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("hidden_size", 2)},
     .given = (const double[]){0.625,  -0.875, -0.6875, -0.5625, -0.6875, 0.625,   0.75,   0.1875, -0.9375, -0.8125,
                               -0.375, -0.125, 0.25,    -0.0625, -0.5,    -0.6875, 0.375,  0.5,    -0.9375, -0.8125,
                               -0.125, -0.25,  0.8125,  0.0625,  -0.1875, -0.125,  0.3125, 0.1875},
     .want = (const double[]){0.15099747, 0.11937509, 0.011526227, 0.49374834},
     .n_want = 4},
    {.name = "both ways, lengths and states as ONNX Runtime's",
     .n_in = 6,
     .in = {AS_IN(F32, 3, 2, 1),
            AS_IN(F32, 2, 6, 1),
            AS_IN(F32, 2, 6, 2),
            AS_IN(F32, 2, 12),
            {.dtype = AS_I32, .shape = AS_SHAPE(2), .ints = (const int64_t[]){3, 1}},
            AS_IN(F32, 2, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 2), AS_ATTR_S("direction", "bidirectional")},
     .given = (const double[]){-0.6875, 0.5,     0.5,    0.9375,  0.5625,  -0.4375, -0.375,  0.3125,  0.3125, 0.375,   0.75,
                               -0.4375, 0.875,   -1,     -0.875,  1,       0.9375,  -0.4375, -0.75,   -0.375, -0.9375, 0.8125,
                               0.3125,  0.1875,  -0.5,   -0.0625, -0.625,  0.5625,  -0.0625, -0.9375, -0.5,   0.4375,  0.0625,
                               -0.25,   -0.5,    -0.875, 0.25,    0.3125,  0.0625,  0.875,   0.875,   -0.625, 0.25,    0.25,
                               -0.5,    -0.4375, 0,      0.5,     -0.4375, 0.4375,  0.3125,  -0.5625, -0.25,  0.6875,  0.6875,
                               0.3125,  -1,      0.375,  -0.5625, 0.6875,  0.875,   -0.125,  0.9375,  0.5625, -0.375,  0.75,
                               -0.25,   -0.8125, 0.1875, 0.75,    0.3125,  -0.25,   0.8125,  -0.0625},
     .want = (const double[]){-0.40568531,  0.040140986, 0.18026392, 0.72711754, -0.085227363, 0.72375321, 0.59244204, 0.47678736,
                              -0.066343755, 0.19684981,  0,          0,          0.15248917,   0.63125706, 0,          0,
                              0.10897652,   0.32613796,  0,          0,          0.1927492,    0.40301844, 0,          0},
     .n_want = 24},
    {.name = "backward, short sequence as ONNX Runtime's",
     .n_in = 5,
     .in = {AS_IN(F32, 3, 2, 2),
            AS_IN(F32, 1, 3, 2),
            AS_IN(F32, 1, 3, 1),
            AS_IN(F32, 1, 6),
            {.dtype = AS_I32, .shape = AS_SHAPE(2), .ints = (const int64_t[]){2, 3}}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 1), AS_ATTR_S("direction", "reverse")},
     .given = (const double[]){-0.25,   -0.75,   -0.5625, 0.4375,  0.625,   -0.4375, 0.25,   0.75,  -0.75,
                               -0.4375, 0.0625,  0.125,   -0.1875, -0.1875, -0.75,   0.25,   0.875, -0.625,
                               0.625,   -0.6875, -0.9375, 0.5,     -0.6875, 0.5,     -0.375, 0.125, 0.9375},
     .want = (const double[]){0.6255421, 0.527659, 0.46722135, 0.58819824, 0, 0.42423701},
     .n_want = 6},
    {.name = "activations and clip as ONNX Runtime's",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 1, 2), AS_IN(F32, 1, 6, 2), AS_IN(F32, 1, 6, 2), AS_IN(F32, 1, 12)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_I("hidden_size", 2),
               AS_ATTR_TEXT_LIST("activations", "HardSigmoid", "Softsign"),
               {.name = "activation_alpha", .kind = AS_ATTR_FLOATS, .floats = (const double[]){0.3}, .n = 1},
               {.name = "activation_beta", .kind = AS_ATTR_FLOATS, .floats = (const double[]){0.4}, .n = 1},
               AS_ATTR_F("clip", 0.75)},
     .given = (const double[]){0.875,   -0.0625, -0.625, -0.5,    0.75,    0.1875,  -0.6875, 0.8125,  0.9375,  0.9375,
                               0.25,    1,       0.25,   0,       1,       0.1875,  0.5625,  -0.3125, 0.625,   1,
                               -0.9375, 0.0625,  -0.25,  -0.9375, -0.875,  -0.5,    -0.625,  0.4375,  -0.5625, 0.25,
                               0.75,    0,       -0.75,  -0.875,  -0.4375, -0.1875, 0,       -0.375,  0.75,    0.125},
     .want = (const double[]){0.12683293, 0.079058386, -0.11162988, -0.18832043},
     .n_want = 4},
    {.name = "linear before reset as ONNX Runtime's",
     .n_in = 6,
     .in = {AS_IN(F32, 2, 1, 2),
            AS_IN(F32, 1, 6, 2),
            AS_IN(F32, 1, 6, 2),
            AS_IN(F32, 1, 12),
            {.dtype = AS_NONE},
            AS_IN(F32, 1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 2), AS_ATTR_I("linear_before_reset", 1)},
     .given = (const double[]){0.9375,  0.875,  0.4375, -1,     -0.5625, 0.5,     0.0625, 0.9375, 0.4375, 0.6875, -0.9375,
                               -0.4375, 0.375,  0.25,   -0.25,  -0.6875, 0.1875,  -0.875, 0.375,  0.625,  0.375,  -0.875,
                               0.0625,  -0.375, 0.125,  0.375,  -0.625,  -0.9375, 0,      0.25,   -0.75,  0.875,  -0.0625,
                               0.9375,  0.0625, 0.5,    0.5625, 0,       -0.25,   0.375,  -1,     0.25},
     .want = (const double[]){-0.18861197, 0.27261257, -0.19130227, 0.61263824},
     .n_want = 4},
    {.name = "33 units both ways, linear before reset",
     .n_in = 6,
     .in = {AS_IN(F32, 3, 14, 5),
            AS_IN(F32, 2, 99, 5),
            AS_IN(F32, 2, 99, 33),
            AS_IN(F32, 2, 198),
            {.dtype = AS_NONE},
            AS_IN(F32, 2, 14, 33)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("direction", "bidirectional"), AS_ATTR_I("linear_before_reset", 1)}},
    AS_CASES_RECURRENT(3),
};

const as_op as_op_gru = {
    .name = "GRU",
    .min_in = 3,
    .max_in = 6,
    .min_out = 1,
    .max_out = 3,
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

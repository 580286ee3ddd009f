/* op_lstm.c - long short-term memory, gates i (input), o (output), f (forget), c (cell), with optional peepholes:
 *     i = f(.. + Pi * C), f = f(.. + Pf * C), C' = f * C + i * g(..), o = f(.. + Po * C'), H' = o * h(C')
 * input_forget couples two of them: f = 1 - i. */
#include "op/cell/recurrent.h"

static const as_attr_def attrs[] = {
    {.name = "activation_alpha", .kind = AS_ATTR_FLOATS},
    {.name = "activation_beta", .kind = AS_ATTR_FLOATS},
    {.name = "activations", .kind = AS_ATTR_TEXTS},
    {.name = "clip", .kind = AS_ATTR_FLOAT},
    {.name = "direction", .kind = AS_ATTR_TEXT},
    {.name = "hidden_size", .kind = AS_ATTR_INT},
    {.name = "input_forget", .kind = AS_ATTR_INT},
    {.name = "layout", .kind = AS_ATTR_INT},
    {0},
};

static double gate(const as_cell_step *s, int64_t row) { return s->xw[row] + s->rb[row] + as_cell_recur(s, row, s->h); }

static bool coupled(const as_cell_step *s) { return as_attr_int(s->n, "input_forget", 0) != 0; }

static void step(const as_cell_step *s)
{
    int64_t hidden = s->r->n_hidden, i = 0, o = hidden, f = 2 * hidden, c = 3 * hidden; /* first rows of the gates */
    for (int64_t k = 0; k < hidden; k++) {
        double input = as_cell_act(s, 0, gate(s, i + k) + s->p[k] * s->c[k], 0, k);
        double forget = coupled(s) ? 1.0 - input : as_cell_act(s, 0, gate(s, f + k) + s->p[2 * hidden + k] * s->c[k], 2, k);
        double fresh = as_cell_act(s, 1, gate(s, c + k), 3, k);
        s->c_next[k] = forget * s->c[k] + input * fresh;
        double output = as_cell_act(s, 0, gate(s, o + k) + s->p[hidden + k] * s->c_next[k], 1, k);
        /* Not clipped: ONNX Runtime clips only the gates, and ONNX does not say otherwise. */
        double shown = s->act[2].of(s->c_next[k], s->act[2].alpha, s->act[2].beta);
        s->slopes[4 * hidden + k] = s->act[2].slope(s->c_next[k], shown, s->act[2].alpha, s->act[2].beta);
        s->h_next[k] = output * shown;
        s->kept[i + k] = input;
        s->kept[o + k] = output;
        s->kept[f + k] = forget;
        s->kept[c + k] = fresh;
        s->kept[4 * hidden + k] = s->c_next[k];
    }
}

static void back(as_cell_back *b)
{
    const as_cell_step *s = b->s;
    int64_t             hidden = s->r->n_hidden, i = 0, o = hidden, f = 2 * hidden, c = 3 * hidden;
    double             *d = b->d_x;
    for (int64_t k = 0; k < hidden; k++) {
        const double *kept = s->kept + k, *slope = s->slopes + k, *p = s->p + k;
        double        shown = s->act[2].of(s->c_next[k], s->act[2].alpha, s->act[2].beta);
        d[o + k] = b->d_h[k] * shown * slope[o];
        double d_c = b->d_c[k] + b->d_h[k] * kept[o] * slope[4 * hidden] + d[o + k] * p[hidden];
        double d_forget = d_c * s->c[k], d_input = d_c * kept[c];
        d[f + k] = coupled(s) ? 0.0 : d_forget * slope[f];
        d[i + k] = (coupled(s) ? d_input - d_forget : d_input) * slope[i];
        d[c + k] = d_c * kept[i] * slope[c];
        b->d_p[k] += d[i + k] * s->c[k];
        b->d_p[hidden + k] += d[o + k] * s->c_next[k];
        b->d_p[2 * hidden + k] += d[f + k] * s->c[k];
        b->d_c[k] = d_c * kept[f] + d[i + k] * p[0] + d[f + k] * p[2 * hidden];
        b->d_h[k] = 0.0;
    }
    for (int64_t row = 0; row < 4 * hidden; row++)
        b->d_r[row] = d[row];
    as_cell_recur_back(s, 0, 4, b->d_r, b->d_h);
}

static const char *const acts[] = {"Sigmoid", "Tanh", "Tanh"};
const as_cell as_cell_lstm = {.n_gates = 4, .n_acts = 3, .acts = acts, .flops_a_unit = 8, .n_stash = 5, .step = step, .back = back};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_recurrent_infer(env, n, &as_cell_lstm, out);
}
static as_cost      cost(const as_node_ctx *n) { return as_recurrent_cost(n, &as_cell_lstm); }
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_recurrent_eval(env, n, &as_cell_lstm, in, out);
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    return as_recurrent_grad(b, n, &as_cell_lstm, "assay.LSTMGrad", in, out, d_out, d_in);
}
static int grad_outs(const as_node_ctx *n) { return as_recurrent_grad_outs(n, &as_cell_lstm); }

static const as_case cases[] = {
    /* Values from ONNX Runtime 1.31.1 on the CPU; the inputs are multiples of 1/16. */
    {.name = "defaults as ONNX Runtime's",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 1, 2), AS_IN(F32, 1, 8, 2), AS_IN(F32, 1, 8, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("hidden_size", 2)},
     .given =
         (const double[]){0.625,   -0.875,  -0.6875, -0.5625, -0.6875, 0.625, 0.75,    0.1875,  -0.9375, -0.8125, -0.375, -0.125,
                          0.25,    -0.0625, -0.5,    -0.6875, 0.375,   0.5,   -0.9375, -0.8125, -0.125,  -0.25,   0.8125, 0.0625,
                          -0.1875, -0.125,  0.3125,  0.1875,  -0.6875, 0.5,   0.5,     0.9375,  0.5625,  -0.4375, -0.375, 0.3125},
     .want = (const double[]){-0.029090667, 0.033497017, -0.21783864, 0.18350436},
     .n_want = 4},
    {.name = "both ways, lengths and states as ONNX Runtime's",
     .n_in = 7,
     .in = {AS_IN(F32, 3, 2, 1),
            AS_IN(F32, 2, 8, 1),
            AS_IN(F32, 2, 8, 2),
            AS_IN(F32, 2, 16),
            {.dtype = AS_I32, .shape = AS_SHAPE(2), .ints = (const int64_t[]){3, 1}},
            AS_IN(F32, 2, 2, 2),
            AS_IN(F32, 2, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 2), AS_ATTR_S("direction", "bidirectional")},
     .given = (const double[]){0.3125,  0.375,   0.75,    -0.4375, 0.875,   -1,      -0.875,  1,       0.9375,  -0.4375, -0.75,
                               -0.375,  -0.9375, 0.8125,  0.3125,  0.1875,  -0.5,    -0.0625, -0.625,  0.5625,  -0.0625, -0.9375,
                               -0.5,    0.4375,  0.0625,  -0.25,   -0.5,    -0.875,  0.25,    0.3125,  0.0625,  0.875,   0.875,
                               -0.625,  0.25,    0.25,    -0.5,    -0.4375, 0,       0.5,     -0.4375, 0.4375,  0.3125,  -0.5625,
                               -0.25,   0.6875,  0.6875,  0.3125,  -1,      0.375,   -0.5625, 0.6875,  0.875,   -0.125,  0.9375,
                               0.5625,  -0.375,  0.75,    -0.25,   -0.8125, 0.1875,  0.75,    0.3125,  -0.25,   0.8125,  -0.0625,
                               -0.25,   -0.75,   -0.5625, 0.4375,  0.625,   -0.4375, 0.25,    0.75,    -0.75,   -0.4375, 0.0625,
                               0.125,   -0.1875, -0.1875, -0.75,   0.25,    0.875,   -0.625,  0.625,   -0.6875, -0.9375, 0.5,
                               -0.6875, 0.5,     -0.375,  0.125,   0.9375,  0.875,   -0.0625, -0.625,  -0.5,    0.75,    0.1875,
                               -0.6875, 0.8125,  0.9375},
     .want = (const double[]){-0.35296059, 0.30051345, -0.41619763, 0.34862408, 0.15007935, -0.20448348, 0.22467433, 0.082756169,
                              -0.46755171, 0.36975574, 0,           0,          0.12862527, -0.27870846, 0,          0,
                              -0.51235974, 0.37204471, 0,           0,          0.1253189,  -0.47084704, 0,          0},
     .n_want = 24},
    {.name = "backward, short sequence as ONNX Runtime's",
     .n_in = 5,
     .in = {AS_IN(F32, 3, 2, 2),
            AS_IN(F32, 1, 4, 2),
            AS_IN(F32, 1, 4, 1),
            AS_IN(F32, 1, 8),
            {.dtype = AS_I32, .shape = AS_SHAPE(2), .ints = (const int64_t[]){2, 3}}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 1), AS_ATTR_S("direction", "reverse")},
     .given = (const double[]){0.9375,  0.25,   1,      0.25,    0,       1,    0.1875, 0.5625, -0.3125, 0.625, 1,
                               -0.9375, 0.0625, -0.25,  -0.9375, -0.875,  -0.5, -0.625, 0.4375, -0.5625, 0.25,  0.75,
                               0,       -0.75,  -0.875, -0.4375, -0.1875, 0,    -0.375, 0.75,   0.125,   0.9375},
     .want = (const double[]){0.064731769, 0.078860275, 0.023694837, 0.090933591, 0, 0.14266887},
     .n_want = 6},
    {.name = "activations and clip as ONNX Runtime's",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 1, 2), AS_IN(F32, 1, 8, 2), AS_IN(F32, 1, 8, 2), AS_IN(F32, 1, 16)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_I("hidden_size", 2),
               AS_ATTR_TEXT_LIST("activations", "HardSigmoid", "ScaledTanh", "Elu"),
               {.name = "activation_alpha", .kind = AS_ATTR_FLOATS, .floats = (const double[]){0.3, 1.5, 0.5}, .n = 3},
               {.name = "activation_beta", .kind = AS_ATTR_FLOATS, .floats = (const double[]){0.4, 0.5}, .n = 2},
               AS_ATTR_F("clip", 0.75)},
     .given = (const double[]){0.875,   0.4375, -1,     -0.5625, 0.5,     0.0625, 0.9375, 0.4375, 0.6875, -0.9375, -0.4375,
                               0.375,   0.25,   -0.25,  -0.6875, 0.1875,  -0.875, 0.375,  0.625,  0.375,  -0.875,  0.0625,
                               -0.375,  0.125,  0.375,  -0.625,  -0.9375, 0,      0.25,   -0.75,  0.875,  -0.0625, 0.9375,
                               0.0625,  0.5,    0.5625, 0,       -0.25,   0.375,  -1,     0.25,   0.0625, -0.75,   -0.625,
                               -0.9375, 0.5,    0.375,  -0.25,   0.9375,  -0.25,  -0.375, 0.875},
     .want = (const double[]){-0.040497575, 0.058793016, -0.039205678, 0.016971216},
     .n_want = 4},
    {.name = "peepholes as ONNX Runtime's",
     .n_in = 8,
     .in = {AS_IN(F32, 2, 1, 2),
            AS_IN(F32, 1, 8, 2),
            AS_IN(F32, 1, 8, 2),
            AS_IN(F32, 1, 16),
            {.dtype = AS_NONE},
            AS_IN(F32, 1, 1, 2),
            AS_IN(F32, 1, 1, 2),
            AS_IN(F32, 1, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("hidden_size", 2)},
     .given = (const double[]){-0.875,  -0.25,   -1,    -0.3125, 0.4375,  -0.3125, 0,      -0.0625, -0.875, -0.8125, -0.4375,
                               0.125,   -0.875,  0.875, 0.75,    0.125,   0.5,     0.5,    -1,      0.9375, -0.9375, 0.6875,
                               0.6875,  0.5,     -0.75, 0.625,   0.9375,  0.6875,  0.375,  -0.5,    0.125,  -0.0625, 0.75,
                               -0.3125, -0.1875, -0.5,  0,       0.125,   -0.0625, -0.375, 0.125,   0.25,   -0.6875, 0.1875,
                               0.4375,  -0.8125, 0.25,  -0.125,  0.875,   -0.25,   -0.375, 0.4375,  0.75,   -0.875,  -0.8125,
                               -0.6875, -0.3125, 0,     0.125,   -0.1875, 0.8125,  0.3125},
     .want = (const double[]){-0.33857349, 0.050968632, -0.68323874, 0.11107673},
     .n_want = 4},
    {.name = "coupled gates as ONNX Runtime's",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 1, 2), AS_IN(F32, 1, 8, 2), AS_IN(F32, 1, 8, 2), AS_IN(F32, 1, 16)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("hidden_size", 2), AS_ATTR_I("input_forget", 1)},
     .given = (const double[]){-0.6875, -0.375,  -0.625,  -0.625,  0.6875,  0.875,  -0.125,  -0.5,   0.6875,  -0.75,  -0.75,
                               -0.4375, -0.25,   -0.3125, -0.4375, -0.5625, 0.25,   0.0625,  0.3125, 0.875,   0.875,  -0.75,
                               0.625,   -0.1875, 0.6875,  0.375,   -0.9375, 0.8125, 0.875,   1,      -0.875,  -0.75,  0.25,
                               0.0625,  -0.8125, 0.8125,  -0.5625, -0.9375, 0.75,   0.1875,  -1,     -0.6875, 0.8125, 0.5625,
                               0.75,    0.875,   -0.4375, 0.0625,  -0.25,   -1,     -0.5625, -0.875},
     .want = (const double[]){0.010175681, -0.26218998, 0.015208587, -0.39715254},
     .n_want = 4},
    AS_CASES_RECURRENT(4),
};

const as_op as_op_lstm = {
    .name = "LSTM",
    .min_in = 3,
    .max_in = 8,
    .min_out = 1,
    .max_out = 4,
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

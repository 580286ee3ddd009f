/* op_lstmgrad.c - the gradient of long short-term memory through time; recurrent.h says what goes in and comes out. */
#include "op/cell/cfc_case.h"
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

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_recurrent_grad_infer(env, n, &as_cell_lstm, out);
}
static as_cost      cost(const as_node_ctx *n) { return as_recurrent_grad_cost(n, &as_cell_lstm); }
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_recurrent_grad_eval(env, n, &as_cell_lstm, in, out);
}

/* Finite differences test this operator through the rule of LSTM; these cases are for kernels. */
static const as_case cases[] = {
    /* The gradient of X by torch's autograd, in double; the inputs are multiples of 1/16. */
    {.name = "x as torch's",
     WIDE(IN(F32, 2, 2, 2), IN(F32, 1, 8, 2), IN(F32, 1, 8, 2), IN(F32, 1, 16), NONE, IN(F32, 1, 2, 2), IN(F32, 1, 2, 2), NONE,
          NONE, NONE, IN(F32, 2, 1, 2, 2)),
     .given =
         (const double[]){-0.125,  -0.25,  0.5,     -0.4375, -0.0625, 0.8125,  0.3125,  0.6875,  -0.875, 0.4375,  -0.875,  -0.5,
                          -0.375,  0.4375, -1,      -0.625,  0.375,   -0.875,  -0.4375, -0.25,   0.125,  0.5,     0.625,   -0.6875,
                          0.5625,  0,      -0.4375, -0.4375, 0.5,     -1,      0.25,    -0.875,  -0.25,  -0.125,  -0.1875, -0.875,
                          0.1875,  0.3125, -0.125,  0.25,    -0.875,  0.375,   0.4375,  0.125,   1,      0.5625,  0.375,   -1,
                          0.875,   0.25,   0.3125,  -0.25,   -1,      -0.5625, -0.6875, -0.9375, 0.9375, -0.0625, -0.875,  0.125,
                          -0.6875, 0.375,  0.4375,  0.3125,  -0.9375, -0.75,   -0.25,   0.1875,  -0.875, 0.5,     -0.8125, 0.75},
     .want = (const double[]){-0.2295845833, -0.3701393278, 0.005513829103, 0.01027482196, 0.07170695063, -0.1592100399,
                              0.1027744735, -0.06223097941},
     .n_want = 8},
    {.name = "one unit, one step",
     WIDE(IN(F32, 1, 1, 1), IN(F32, 1, 4, 1), IN(F32, 1, 4, 1), NONE, NONE, NONE, NONE, NONE, IN(F32, 1, 1, 1, 1),
          IN(F32, 1, 1, 1, 5), IN(F32, 1, 1, 1, 1))},
    {.name = "9 units, 5 samples, all of it",
     WIDE(IN(F32, 3, 5, 7), IN(F32, 1, 36, 7), IN(F32, 1, 36, 9), IN(F32, 1, 72), NONE, IN(F32, 1, 5, 9), IN(F32, 1, 5, 9), NONE,
          IN(F32, 3, 1, 5, 9), IN(F32, 3, 1, 5, 45), IN(F32, 3, 1, 5, 9), IN(F32, 1, 5, 9), IN(F32, 1, 5, 9))},
    {.name = "17 units both ways, batch first",
     WIDE(IN(F32, 3, 4, 5), IN(F32, 2, 68, 5), IN(F32, 2, 68, 17), IN(F32, 2, 136), NONE, IN(F32, 3, 2, 17), IN(F32, 3, 2, 17),
          NONE, IN(F32, 3, 4, 2, 17), IN(F32, 4, 2, 3, 85), IN(F32, 3, 4, 2, 17), IN(F32, 3, 2, 17), IN(F32, 3, 2, 17)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("layout", 1), AS_ATTR_S("direction", "bidirectional")}},
    {.name = "33 units, 13 samples, only the last state",
     WIDE(IN(F32, 3, 13, 40), IN(F32, 1, 132, 40), IN(F32, 1, 132, 33), IN(F32, 1, 264), NONE, NONE, NONE, NONE,
          IN(F32, 3, 1, 13, 33), IN(F32, 3, 1, 13, 165), NONE, IN(F32, 1, 13, 33), IN(F32, 1, 13, 33))},
    {.name = "7 units both ways, 25 samples, one input",
     WIDE(IN(F32, 2, 25, 1), IN(F32, 2, 28, 1), IN(F32, 2, 28, 7), NONE, NONE, IN(F32, 2, 25, 7), IN(F32, 2, 25, 7), NONE,
          IN(F32, 2, 2, 25, 7), IN(F32, 2, 2, 25, 35), IN(F32, 2, 2, 25, 7)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "bidirectional")}},
    {.name = "20 units backwards, one sample, 19 steps",
     .lo = -0.4,
     .hi = 0.4,
     WIDE(IN(F32, 19, 1, 3), IN(F32, 1, 80, 3), IN(F32, 1, 80, 20), IN(F32, 1, 160), NONE, IN(F32, 1, 1, 20), IN(F32, 1, 1, 20),
          NONE, IN(F32, 19, 1, 1, 20), IN(F32, 19, 1, 1, 100), IN(F32, 19, 1, 1, 20), IN(F32, 1, 1, 20), IN(F32, 1, 1, 20)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "reverse")}},
    {.name = "40 units, 70 samples",
     WIDE(IN(F32, 3, 70, 9), IN(F32, 1, 160, 9), IN(F32, 1, 160, 40), IN(F32, 1, 320), NONE, IN(F32, 1, 70, 40), IN(F32, 1, 70, 40),
          NONE, IN(F32, 3, 1, 70, 40), IN(F32, 3, 1, 70, 200), IN(F32, 3, 1, 70, 40))},
    {.name = "f64",
     WIDE(IN(F64, 2, 2, 3), IN(F64, 1, 20, 3), IN(F64, 1, 20, 5), IN(F64, 1, 40), NONE, IN(F64, 1, 2, 5), IN(F64, 1, 2, 5), NONE,
          IN(F64, 2, 1, 2, 5), IN(F64, 2, 1, 2, 25), IN(F64, 2, 1, 2, 5), IN(F64, 1, 2, 5), IN(F64, 1, 2, 5))},
    {.name = "nothing kept",
     WIDE(IN(F32, 2, 3, 3), IN(F32, 1, 16, 3), IN(F32, 1, 16, 4), IN(F32, 1, 32), NONE, IN(F32, 1, 3, 4), IN(F32, 1, 3, 4), NONE,
          NONE, NONE, IN(F32, 2, 1, 3, 4), IN(F32, 1, 3, 4), IN(F32, 1, 3, 4))},
    {.name = "nothing from above",
     WIDE(IN(F32, 2, 3, 3), IN(F32, 1, 16, 3), IN(F32, 1, 16, 4), IN(F32, 1, 32), NONE, IN(F32, 1, 3, 4), IN(F32, 1, 3, 4), NONE,
          IN(F32, 2, 1, 3, 4), IN(F32, 2, 1, 3, 20))},
    {.name = "no steps",
     WIDE(IN(F32, 0, 2, 2), IN(F32, 1, 12, 2), IN(F32, 1, 12, 3), IN(F32, 1, 24), NONE, NONE, NONE, NONE, IN(F32, 0, 1, 2, 3),
          IN(F32, 0, 1, 2, 15), IN(F32, 0, 1, 2, 3), IN(F32, 1, 2, 3), IN(F32, 1, 2, 3))},
    {.name = "empty batch",
     WIDE(IN(F32, 2, 0, 2), IN(F32, 1, 12, 2), IN(F32, 1, 12, 3), IN(F32, 1, 24), NONE, NONE, NONE, NONE, IN(F32, 2, 1, 0, 3),
          IN(F32, 2, 1, 0, 15), IN(F32, 2, 1, 0, 3), IN(F32, 1, 0, 3), IN(F32, 1, 0, 3))},
};

const as_op as_op_lstmgrad = {
    .name = "assay.LSTMGrad",
    .min_in = 3,
    .max_in = AS_RNN_N_IN,
    .min_out = 1,
    .max_out = AS_RNN_N_OUT,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-4,
    .outs_optional = true,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

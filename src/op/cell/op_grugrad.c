/* op_grugrad.c - the gradient of the gated recurrent unit through time; recurrent.h says what goes in and comes out. */
#include "op/cell/cfc_case.h"
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

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_recurrent_grad_infer(env, n, &as_cell_gru, out);
}
static as_cost      cost(const as_node_ctx *n) { return as_recurrent_grad_cost(n, &as_cell_gru); }
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_recurrent_grad_eval(env, n, &as_cell_gru, in, out);
}

/* Finite differences test this operator through the rule of GRU; these cases are for kernels. */
static const as_case cases[] = {
    /* The gradient of X by torch's autograd, in double; the inputs are multiples of 1/16. */
    {.name = "x as torch's",
     WIDE(IN(F32, 2, 2, 2), IN(F32, 1, 6, 2), IN(F32, 1, 6, 2), IN(F32, 1, 12), NONE, IN(F32, 1, 2, 2), NONE, NONE, NONE, NONE,
          IN(F32, 2, 1, 2, 2)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("linear_before_reset", 1)},
     .given =
         (const double[]){0.1875,  -0.9375, -0.125,  -0.625,  -0.4375, 0.1875, 0.8125, 0.75,    0.6875, 0,      0.25,    -0.25,
                          -0.4375, 0.625,   -0.125,  -0.3125, -1,      0.875,  -0.75,  0.9375,  0.25,   0.6875, -0.1875, 0.3125,
                          -1,      1,       -0.3125, -0.1875, 0.4375,  -1,     0.375,  -0.1875, 0.4375, 0.4375, 0.9375,  0.3125,
                          0.625,   -0.875,  -0.5,    0.6875,  0.625,   0.375,  0.6875, 0.1875,  0.6875, 0.5625, 1,       0.0625,
                          0.3125,  -0.0625, -0.1875, -0.3125, -0.8125, -0.125, 1,      0},
     .want = (const double[]){0.01582858152, -0.02215940561, -0.09116792328, 0.1033902986, 0.1464819869, -0.0732061831,
                              -0.1080837789, 0.09988493721},
     .n_want = 8},
    {.name = "one unit, one step",
     WIDE(IN(F32, 1, 1, 1), IN(F32, 1, 3, 1), IN(F32, 1, 3, 1), NONE, NONE, NONE, NONE, NONE, IN(F32, 1, 1, 1, 1),
          IN(F32, 1, 1, 1, 4), IN(F32, 1, 1, 1, 1))},
    {.name = "9 units, 5 samples, all of it",
     WIDE(IN(F32, 3, 5, 7), IN(F32, 1, 27, 7), IN(F32, 1, 27, 9), IN(F32, 1, 54), NONE, IN(F32, 1, 5, 9), NONE, NONE,
          IN(F32, 3, 1, 5, 9), IN(F32, 3, 1, 5, 36), IN(F32, 3, 1, 5, 9), IN(F32, 1, 5, 9))},
    {.name = "17 units both ways, batch first",
     WIDE(IN(F32, 3, 4, 5), IN(F32, 2, 51, 5), IN(F32, 2, 51, 17), IN(F32, 2, 102), NONE, IN(F32, 3, 2, 17), NONE, NONE,
          IN(F32, 3, 4, 2, 17), IN(F32, 4, 2, 3, 68), IN(F32, 3, 4, 2, 17), IN(F32, 3, 2, 17)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("layout", 1), AS_ATTR_S("direction", "bidirectional")}},
    {.name = "33 units, 13 samples, only the last state",
     .n_in = 12,
     .wide = (const as_case_in[]){IN(F32, 3, 13, 40), IN(F32, 1, 99, 40), IN(F32, 1, 99, 33), IN(F32, 1, 198), NONE, NONE, NONE,
                                  NONE, IN(F32, 3, 1, 13, 33), IN(F32, 3, 1, 13, 132), NONE, IN(F32, 1, 13, 33)}},
    {.name = "7 units both ways, 25 samples, one input",
     .n_in = 11,
     .wide = (const as_case_in[]){IN(F32, 2, 25, 1), IN(F32, 2, 21, 1), IN(F32, 2, 21, 7), NONE, NONE, IN(F32, 2, 25, 7), NONE,
                                  NONE, IN(F32, 2, 2, 25, 7), IN(F32, 2, 2, 25, 28), IN(F32, 2, 2, 25, 7)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("linear_before_reset", 1), AS_ATTR_S("direction", "bidirectional")}},
    {.name = "20 units backwards, one sample, 19 steps",
     .lo = -0.4,
     .hi = 0.4,
     WIDE(IN(F32, 19, 1, 3), IN(F32, 1, 60, 3), IN(F32, 1, 60, 20), IN(F32, 1, 120), NONE, IN(F32, 1, 1, 20), NONE, NONE,
          IN(F32, 19, 1, 1, 20), IN(F32, 19, 1, 1, 80), IN(F32, 19, 1, 1, 20), IN(F32, 1, 1, 20)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("direction", "reverse"), AS_ATTR_I("linear_before_reset", 1)}},
    {.name = "40 units, 70 samples",
     WIDE(IN(F32, 3, 70, 9), IN(F32, 1, 120, 9), IN(F32, 1, 120, 40), IN(F32, 1, 240), NONE, IN(F32, 1, 70, 40), NONE, NONE,
          IN(F32, 3, 1, 70, 40), IN(F32, 3, 1, 70, 160), IN(F32, 3, 1, 70, 40)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("linear_before_reset", 1)}},
    {.name = "f64",
     WIDE(IN(F64, 2, 2, 3), IN(F64, 1, 15, 3), IN(F64, 1, 15, 5), IN(F64, 1, 30), NONE, IN(F64, 1, 2, 5), NONE, NONE,
          IN(F64, 2, 1, 2, 5), IN(F64, 2, 1, 2, 20), IN(F64, 2, 1, 2, 5), IN(F64, 1, 2, 5)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("linear_before_reset", 1)}},
    {.name = "nothing kept",
     WIDE(IN(F32, 2, 3, 3), IN(F32, 1, 12, 3), IN(F32, 1, 12, 4), IN(F32, 1, 24), NONE, IN(F32, 1, 3, 4), NONE, NONE, NONE, NONE,
          IN(F32, 2, 1, 3, 4), IN(F32, 1, 3, 4))},
    {.name = "nothing from above",
     WIDE(IN(F32, 2, 3, 3), IN(F32, 1, 12, 3), IN(F32, 1, 12, 4), IN(F32, 1, 24), NONE, IN(F32, 1, 3, 4), NONE, NONE,
          IN(F32, 2, 1, 3, 4), IN(F32, 2, 1, 3, 16))},
    {.name = "no steps",
     .n_in = 12,
     .wide = (const as_case_in[]){IN(F32, 0, 2, 2), IN(F32, 1, 9, 2), IN(F32, 1, 9, 3), IN(F32, 1, 18), NONE, NONE, NONE, NONE,
                                  IN(F32, 0, 1, 2, 3), IN(F32, 0, 1, 2, 12), IN(F32, 0, 1, 2, 3), IN(F32, 1, 2, 3)}},
    {.name = "empty batch",
     .n_in = 12,
     .wide = (const as_case_in[]){IN(F32, 2, 0, 2), IN(F32, 1, 9, 2), IN(F32, 1, 9, 3), IN(F32, 1, 18), NONE, NONE, NONE, NONE,
                                  IN(F32, 2, 1, 0, 3), IN(F32, 2, 1, 0, 12), IN(F32, 2, 1, 0, 3), IN(F32, 1, 0, 3)}},
};

const as_op as_op_grugrad = {
    .name = "assay.GRUGrad",
    .min_in = 3,
    .max_in = AS_RNN_N_IN,
    .min_out = 1,
    .max_out = AS_RNN_OUT_H0 + 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-4,
    .outs_optional = true,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

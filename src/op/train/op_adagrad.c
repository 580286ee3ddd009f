/* op_adagrad.c - assay.AdaGrad: AdaGrad over a block of parameters.
 *
 * g <- g + decay w; s <- s + g^2; w <- w - rate / (1 + (t - 1) rate_decay) g / (sqrt(s) + epsilon).  optimizer.h says what the
 * operands are. */
#include "op/train/optimizer_case.h"

static const as_attr_def attrs[] = {
    {.name = "epsilon", .kind = AS_ATTR_FLOAT}, {.name = "rate_decay", .kind = AS_ATTR_FLOAT}, AS_OPT_ATTRS};

static const as_case cases[] = {
    /* The second step of PyTorch's own, in double. */
    {.name = "as PyTorch's",
     .n_in = 8,
     .in = {AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 1), AS_IN(F32, 1), STEP(2), NONE, NONE, AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("rate_decay", 0.5)},
     .given = (const double[]){0.8750000000166667, -1.87500000005, 0.6249999999857143, -0.25, 0.75, -0.5, 0.125, 0.25, 0.5625,
                               0.0625, 0.765625},
     .want = (const double[]){0.8784692120750912, -1.9372841099225315, 0.6554710310179968},
     .n_want = 3},
    {.name = "one parameter",
     .n_in = 8,
     .in = {AS_IN(F32, 1), AS_IN(F32, 1), AS_IN(F32, 1), AS_IN(F32, 1), STEP(1), NONE, NONE, AS_IN(F32, 1)},
     .lo = 0,
     .hi = 1},
    {.name = "7",
     .n_in = 8,
     .in = {AS_IN(F32, 7), AS_IN(F32, 7), AS_IN(F32, 1), AS_IN(F32, 1), STEP(2), NONE, NONE, AS_IN(F32, 7)},
     .lo = 0,
     .hi = 1},
    {.name = "33, two groups, scale",
     .n_in = 8,
     .in = {AS_IN(F32, 33), AS_IN(F32, 33), AS_IN(F32, 2), AS_IN(F32, 2), STEP(5), NONE, NUMBER, AS_IN(F32, 33)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("starts", 0, 17)},
     .lo = 0,
     .hi = 1},
    {.name = "1000, four groups, one empty, clipped",
     .n_in = 8,
     .in = {AS_IN(F32, 1000), AS_IN(F32, 1000), AS_IN(F32, 4), AS_IN(F32, 4), STEP(100), NUMBER, NUMBER, AS_IN(F32, 1000)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("clip_norm", 0.25), AS_ATTR_F("clip_value", 0.125), AS_ATTR_LIST("starts", 0, 3, 3, 640)},
     .lo = 0,
     .hi = 1},
    {.name = "5000",
     .n_in = 8,
     .in = {AS_IN(F32, 5000), AS_IN(F32, 5000), AS_IN(F32, 1), AS_IN(F32, 1), STEP(3), NUMBER, NONE, AS_IN(F32, 5000)},
     .lo = 0,
     .hi = 1},
    {.name = "skipped",
     .n_in = 8,
     .in = {AS_IN(F32, 2), AS_IN(F32, 2), AS_IN(F32, 1), AS_IN(F32, 1), STEP(4), NUMBER, NONE, AS_IN(F32, 2)},
     .given = (const double[]){0.5, 0.25, 1, 2, 0.125, 0.25, HUGE_VAL, 0.5, 0.75},
     .want = (const double[]){0.5, 0.25},
     .n_want = 2},
    {.name = "rate decay",
     .n_in = 8,
     .in = {AS_IN(F32, 19), AS_IN(F32, 19), AS_IN(F32, 1), AS_IN(F32, 1), STEP(9), NONE, NONE, AS_IN(F32, 19)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("rate_decay", 0.125)},
     .lo = 0,
     .hi = 1},
    {.name = "empty",
     .n_in = 8,
     .in = {AS_IN(F32, 0), AS_IN(F32, 0), AS_IN(F32, 1), AS_IN(F32, 1), STEP(1), NONE, NONE, AS_IN(F32, 0)},
     .lo = 0,
     .hi = 1},
};

const as_op as_op_adagrad = {
    .name = "assay.AdaGrad",
    .min_in = 5,
    .max_in = AS_OPT_STATE + 1,
    .min_out = 1,
    .max_out = AS_OPT_NEW_STATE + 1,
    .attrs = attrs,
    .infer = as_opt_infer,
    .cost = as_opt_cost,
    .eval = as_opt_eval, /* no gradient: nothing is trained through an update */
    .tolerance = 2e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

/* op_huberloss.c - assay.HuberLoss(y, target, rows): Huber loss: (y - t)^2 / 2 up to a distance of delta, delta (|y - t| - delta / 2) beyond it; the mean over all elements, or those of the first `rows` rows. */
#include "op/train/loss_case.h"

static const as_attr_def attrs[] = {{.name = "delta", .kind = AS_ATTR_FLOAT}, {0}};

/* By hand. */
static const double  want[] = {1.2291666666666667}, want_rows[] = {1.34375};
static const as_case cases[] = {LOSS_CASES(want, want_rows, false, 1, AS_ATTR_F("delta", 1.5))};

const as_op as_op_huberloss = {
    .name = "assay.HuberLoss",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_loss_infer,
    .cost = as_loss_cost,
    .eval = as_loss_eval,
    .grad = as_loss_grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

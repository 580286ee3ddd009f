/* op_bcewithlogitsloss.c - assay.BceWithLogitsLoss(y, target, rows): binary cross-entropy of logits: max(y, 0) - y t + log(1 + exp(-|y|)); the mean over all elements, or those of the first `rows` rows. */
#include "op/train/loss_case.h"

/* The formula in Python. */
static const double  want[] = {0.9879511220294398}, want_rows[] = {1.103257941668916};
static const as_case cases[] = {LOSS_CASES(want, want_rows, false, 0, )};

const as_op as_op_bcewithlogitsloss = {
    .name = "assay.BceWithLogitsLoss",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = as_loss_infer,
    .cost = as_loss_cost,
    .eval = as_loss_eval,
    .grad = as_loss_grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

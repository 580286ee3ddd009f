/* op_maeloss.c - assay.MaeLoss(y, target, rows): mean of sizes |y - t|; the mean over all elements, or those of the first `rows` rows. */
#include "op/train/loss_case.h"

/* By hand. */
static const double  want[] = {1.3333333333333333}, want_rows[] = {1.375};
static const as_case cases[] = {LOSS_CASES(want, want_rows, true, 0, )};

const as_op as_op_maeloss = {
    .name = "assay.MaeLoss",
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

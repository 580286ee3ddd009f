/* op_bcewithlogitsgrad.c - assay.BceWithLogitsGrad(y, target, d_loss, rows): the gradient of assay.BceWithLogitsLoss times d_loss, (sigmoid(y) - t) over the
 * number of elements in the mean; 0 in the rows that are not.  With of_target = 1 the gradient of the target. */
#include "op/train/loss_case.h"

static const as_attr_def attrs[] = {{.name = "of_target", .kind = AS_ATTR_INT}, {0}};

/* The formula in Python. */
static const double want[] = {-0.1887703343990727, 0.05960146101105877,  0.4762870634112167,
                              0.15608825044289903, -0.36552928931500245, -0.09121276190317817},
                    want_target[] = {-0.375, 1.5, -2.25, -0.1875, 0, 0};
static const as_case cases[] = {LOSS_GRAD_CASES(want, want_target, 0, )};

const as_op as_op_bcewithlogitsgrad = {
    .name = "assay.BceWithLogitsGrad",
    .min_in = 3,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_loss_grad_infer,
    .cost = as_loss_grad_cost,
    .eval = as_loss_grad_eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

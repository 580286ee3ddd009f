/* op_maegrad.c - assay.MaeGrad(y, target, d_loss, rows): the gradient of assay.MaeLoss times d_loss, sign(y - t), 0 where they are equal over the
 * number of elements in the mean; 0 in the rows that are not.  With of_target = 1 the gradient of the target. */
#include "op/train/loss_case.h"

static const as_attr_def attrs[] = {{.name = "of_target", .kind = AS_ATTR_INT}, {0}};

/* By hand. */
static const double  want[] = {-0.5, -0.5, 0.5, 0, -0.5, 0.5}, want_target[] = {0.75, 0.75, -0.75, 0, 0, 0};
static const as_case cases[] = {LOSS_GRAD_CASES(want, want_target, 0, )};

const as_op as_op_maegrad = {
    .name = "assay.MaeGrad",
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

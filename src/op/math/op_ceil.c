/* op_ceil.c - y = the smallest whole number not below x, element by element. */
#include <math.h>

#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], ceil);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 9)},
     .given = (const double[]){-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.25, -1.75, 3},
     .want = (const double[]){-2, -1, 0, 1, 2, 3, 1, -1, 3},
     .n_want = 9,
     .no_grad = true},
    AS_CASES_ONE(-4, 4),
};

const as_op as_op_ceil = {
    .name = "Ceil",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_float,
    .cost = as_cost_each,
    .eval = eval,
    .grad = as_step_grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

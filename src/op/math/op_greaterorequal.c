/* op_greaterorequal.c - whether A >= B: element by element, with broadcasting; false for a NaN, exact for integers. */
#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_compare(in, &out[0], AS_GREATER | AS_EQUAL);
    return ASSAY_OK;
}

static const as_case cases[] = {
    AS_CASES_COMPARE(0, 1, 1),
    AS_CASES_COMPARE_LONG,
};

const as_op as_op_greaterorequal = {
    .name = "GreaterOrEqual",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_compare,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: the output is not a number */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

/* op_equal.c - whether A == B: element by element, with broadcasting; false for a NaN, exact for integers. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_all(env, n, 0, AS_SET_ANY, out));
    out[0].dtype = AS_BOOL;
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_compare(in, &out[0], AS_EQUAL);
    return ASSAY_OK;
}

static const as_case cases[] = {
    AS_CASES_COMPARE(0, 1, 0),
    {.name = "bool",
     .n_in = 2,
     .in = {AS_IN(BOOL, 4), AS_IN(BOOL, 4)},
     .given = (const double[]){0, 0, 1, 1, 0, 1, 0, 1},
     .want = (const double[]){1, 0, 0, 1},
     .n_want = 4},
    AS_CASES_COMPARE_LONG,
};

const as_op as_op_equal = {
    .name = "Equal",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: the output is not a number */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

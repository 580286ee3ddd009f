/* op_and.c - whether of A and B both are true: element by element, with broadcasting. */
#include "op/rules.h"

static uint64_t whole(uint64_t a, uint64_t b)
{
    return a & b;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each2(&in[0], &in[1], &out[0], NULL, whole); /* never a float */
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The values of onnx's reference evaluator. */
    { .name = "all four", .n_in = 2, .in = { AS_IN(BOOL, 4), AS_IN(BOOL, 4) },
      .given = (const double[]){ 0, 0, 1, 1, 0, 1, 0, 1 },
      .want = (const double[]){ 0, 0, 0, 1 }, .n_want = 4 },
    AS_CASES_TWO(BOOL, -1, 1),
};

const as_op as_op_and = {
    .name = "And", .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .infer = as_rule_logic, .cost = as_cost_each, .eval = eval, /* no gradient: the output is no number */
    .tolerance = 0.0, .cases = cases, .n_cases = AS_COUNT(cases),
};

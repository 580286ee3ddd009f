/* op_isnan.c - y = whether x is NaN, element by element. */
#include <math.h>

#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_float(env, n, out));
    out[0].dtype = AS_BOOL;
    return ASSAY_OK;
}

static double real(double x) { return isnan(x) ? 1.0 : 0.0; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], real);
    return ASSAY_OK;
}

static const as_case cases[] = {
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     .given = (const double[]){1, NAN, -INFINITY, INFINITY, 0},
     .want = (const double[]){0, 1, 0, 0, 0},
     .n_want = 5},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F64}}},
    {.name = "15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 33)}},
    {.name = "bf16", .n_in = 1, .in = {AS_IN(BF16, 9)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 3)}},
};

const as_op as_op_isnan = {
    .name = "IsNaN",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: the output is not a number */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

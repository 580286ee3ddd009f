/* op_accumulate.c - assay.Accumulate(acc, g, keep): keep * acc + g, element by element; keep is a scalar.  With keep 0 the old sum is
 * not read: whatever it holds, also NaN, is forgotten. */
#include <math.h>

#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    if (!as_shape_same(&n->in[0].shape, &n->in[1].shape) || n->in[2].shape.rank != 0)
        return as_refuse(env, n, "acc is %s, g is %s and keep is %s: the first two must be the same and keep a scalar",
                         AS_SHOW(&n->in[0].shape), AS_SHOW(&n->in[1].shape), AS_SHOW(&n->in[2].shape));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_mul(2, as_sat_count(&n->in[0].shape));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&n->in[0].shape);
    double  keep = as_view_get(&in[2], 0);
    for (int64_t i = 0; i < count; i++)
        as_view_set(&out[0], i, (keep == 0.0 ? 0.0 : keep * as_view_get(&in[0], i)) + as_view_get(&in[1], i));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(F32, 3), {.dtype = AS_F32}},
     .given = (const double[]){1, 2, -4, 10, 20, 30, 0.5},
     .want = (const double[]){10.5, 21, 28},
     .n_want = 3},
    {.name = "a new sum by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(F32, 3), {.dtype = AS_F32}},
     .given = (const double[]){1, HUGE_VAL, 5, 10, 20, 30, 0},
     .want = (const double[]){10, 20, 30},
     .n_want = 3},
    {.name = "one element", .n_in = 3, .in = {AS_IN(F32, 1), AS_IN(F32, 1), {.dtype = AS_F32}}},
    {.name = "7x9", .n_in = 3, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 7, 9), {.dtype = AS_F32}}},
    {.name = "5000", .n_in = 3, .in = {AS_IN(F32, 5000), AS_IN(F32, 5000), {.dtype = AS_F32}}},
    {.name = "f64", .n_in = 3, .in = {AS_IN(F64, 17), AS_IN(F64, 17), {.dtype = AS_F64}}},
    {.name = "empty", .n_in = 3, .in = {AS_IN(F32, 0), AS_IN(F32, 0), {.dtype = AS_F32}}},
};

const as_op as_op_accumulate = {
    .name = "assay.Accumulate",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: it is part of an update */
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

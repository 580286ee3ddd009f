/* op_gradnorm.c - assay.GradNorm(g, scale): the 2-norm of g / scale over all elements, a scalar; scale may be absent.  Infinite or NaN
 * where an element is. */
#include <math.h>

#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    if (as_in_has(n, 1) && (n->in[1].dtype != n->in[0].dtype || n->in[1].shape.rank != 0))
        return as_refuse(env, n, "scale is %s %s and must be a scalar of g's dtype %s", as_dtype_name(n->in[1].dtype),
                         AS_SHOW(&n->in[1].shape), as_dtype_name(n->in[0].dtype));
    out[0] = as_info(n->in[0].dtype, &(as_shape){0});
    return ASSAY_OK;
}

/* A multiply-add per element, a root and a division. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_add(as_sat_mul(2, as_sat_count(&n->in[0].shape)), 2);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&n->in[0].shape);
    double  sum = 0.0, scale = as_in_has(n, 1) ? as_view_get(&in[1], 0) : 1.0;
    for (int64_t i = 0; i < count; i++)
        sum += as_view_get(&in[0], i) * as_view_get(&in[0], i);
    as_view_set(&out[0], 0, sqrt(sum) / fabs(scale));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 4)},
     .given = (const double[]){1, -2, 4, -2},
     .want = (const double[]){5},
     .n_want = 1},
    {.name = "scaled by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2), {.dtype = AS_F32}},
     .given = (const double[]){-3, 4, 8},
     .want = (const double[]){0.625},
     .n_want = 1},
    /* By hand: the squares are no floats, the norm is one. */
    {.name = "large by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     .given = (const double[]){3 * 0x1p100, 4 * 0x1p100},
     .want = (const double[]){5 * 0x1p100},
     .n_want = 1},
    {.name = "not finite by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .given = (const double[]){1, -HUGE_VAL, 2},
     .want = (const double[]){HUGE_VAL},
     .n_want = 1},
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}},
    {.name = "31", .n_in = 1, .in = {AS_IN(F32, 31)}},
    {.name = "7x1000", .n_in = 2, .in = {AS_IN(F32, 7, 1000), {.dtype = AS_F32}}, .lo = 0.5, .hi = 1},
    {.name = "shards and a rest", .n_in = 1, .in = {AS_IN(F32, 40007)}},
    {.name = "f64", .n_in = 1, .in = {AS_IN(F64, 17)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0)}},
};

const as_op as_op_gradnorm = {
    .name = "assay.GradNorm",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: it is part of an update */
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

/* op_relugrad.c - assay.ReluGrad(X, dY): dY where X > 0, else 0.  Where X is NaN, dY passes, because Relu passes the NaN. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    if (!as_shape_same(&n->in[0].shape, &n->in[1].shape))
        return as_refuse(env, n, "X is %s and dY is %s: they must be the same", AS_SHOW(&n->in[0].shape), AS_SHOW(&n->in[1].shape));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&n->in[0].shape);
    for (int64_t i = 0; i < count; i++)
        as_view_set(&out[0], i, as_view_get(&in[0], i) <= 0.0 ? 0.0 : as_view_get(&in[1], i));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the gradient at 0 is 0. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 4), AS_IN(F32, 4)},
     .given = (const double[]){-2, 0, 0.5, 3, 10, 20, 30, -40},
     .want = (const double[]){0, 0, 30, -40},
     .n_want = 4},
    {.name = "one element", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN(F32, 1)}},
    {.name = "7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 7, 9)}},
    {.name = "8x16", .n_in = 2, .in = {AS_IN(F32, 8, 16), AS_IN(F32, 8, 16)}},
    {.name = "15x17", .n_in = 2, .in = {AS_IN(F32, 15, 17), AS_IN(F32, 15, 17)}},
    {.name = "31x33", .n_in = 2, .in = {AS_IN(F32, 31, 33), AS_IN(F32, 31, 33)}},
    {.name = "f64", .n_in = 2, .in = {AS_IN(F64, 17), AS_IN(F64, 17)}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN(F32, 0, 3)}},
};

/* One comparison per element counts as one flop. */
const as_op as_op_relugrad = {
    .name = "assay.ReluGrad",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

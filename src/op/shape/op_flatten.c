/* op_flatten.c - a matrix: the axes before `axis` are its rows, the others its columns. */
#include "op/rules.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         axis = as_attr_int(n, "axis", 1), side[2] = {1, 1};
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    if (axis < -x->rank || axis > x->rank)
        return as_refuse(env, n, "axis %lld is outside of [%d, %d] for an input of rank %d", (long long)axis, -x->rank, x->rank,
                         x->rank);
    if (axis < 0)
        axis += x->rank;
    /* If one side has a 0, the other may be too large although the input is empty. */
    for (int i = 0; i < x->rank; i++)
        if (__builtin_mul_overflow(side[i >= axis], x->dim[i], &side[i >= axis]))
            return as_refuse(env, n, "a side of %s flattened at axis %lld is too large", AS_SHOW(x), (long long)axis);
    out[0] = as_info(n->in[0].dtype, &AS_SHAPE(side[0], side[1]));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the order does not change. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 2)},
     .given = (const double[]){1, 2, 3, 4},
     .want = (const double[]){1, 2, 3, 4},
     .n_want = 4},
    {.name = "images", .n_in = 1, .in = {AS_IN(F32, 3, 2, 7, 9)}},
    {.name = "axis 0", .n_in = 1, .in = {AS_IN(F32, 3, 17)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", 0)}},
    {.name = "axis -1", .n_in = 1, .in = {AS_IN(F64, 3, 5, 8)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", -1)}},
    {.name = "axis behind the last", .n_in = 1, .in = {AS_IN(F64, 3, 5)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", 2)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 3, 5)}},
    {.name = "i8", .n_in = 1, .in = {AS_IN(I8, 2, 3, 4)}, .lo = -100, .hi = 100, .no_grad = true},
};

/* No flops.  The bytes count one move of every element; a plan that aliases moves none. */
const as_op as_op_flatten = {
    .name = "Flatten",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = as_eval_copy,
    .grad = as_reshape_grad,
    .tolerance = 0.0,
    .view_only = true,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

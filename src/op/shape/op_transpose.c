/* op_transpose.c - axis i of the output is axis perm[i] of the input; without perm the axes are reversed. */
#include "op/rules.h"

static const as_attr_def attrs[] = {{.name = "perm", .kind = AS_ATTR_INTS}, {0}};

static assay_status perm_of(assay_env *env, const as_node_ctx *n, int *out)
{
    int            rank = n->in[0].shape.rank, perm[AS_MAX_RANK];
    const as_attr *a = as_attr_find(n, "perm");
    unsigned       seen = 0;
    if (a && a->n != (size_t)rank)
        return as_refuse(env, n, "perm has %zu values and the input %s has rank %d", a->n, AS_SHOW(&n->in[0].shape), rank);
    for (int i = 0; i < rank; i++) {
        int64_t axis = a ? a->ints[i] : rank - 1 - i;
        if (axis < 0 || axis >= rank)
            return as_refuse(env, n, "perm[%d] is %lld, outside of 0 to %d", i, (long long)axis, rank - 1);
        if (seen & (1u << axis))
            return as_refuse(env, n, "perm names axis %lld twice", (long long)axis);
        seen |= 1u << axis;
        perm[i] = (int)axis;
    }
    for (int i = 0; i < rank; i++)
        out[i] = perm[i];
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int perm[AS_MAX_RANK];
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    AS_TRY(perm_of(env, n, perm));
    as_shape y = {.rank = n->in[0].shape.rank};
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = n->in[0].shape.dim[perm[i]];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int     perm[AS_MAX_RANK];
    as_view turned = in[0];
    AS_TRY(perm_of(env, n, perm));
    for (int i = 0; i < turned.shape.rank; i++) {
        turned.shape.dim[i] = in[0].shape.dim[perm[i]];
        turned.stride[i] = in[0].stride[perm[i]];
    }
    as_view_copy(&out[0], &turned);
    return ASSAY_OK;
}

/* The inverse permutation puts every element back. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    int     perm[AS_MAX_RANK];
    int64_t inverse[AS_MAX_RANK];
    d_in[0] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    AS_TRY(perm_of(b->env, n, perm));
    for (int i = 0; i < n->in[0].shape.rank; i++)
        inverse[perm[i]] = i;
    d_in[0] = as_b_transpose(b, d_out[0], inverse, n->in[0].shape.rank);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "2x3 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){1, 4, 2, 5, 3, 6},
     .n_want = 6},
    /* numpy: arange(12).reshape(2,3,2).transpose(1,2,0). */
    {.name = "i64 turned as numpy's",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 3, 2)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", 1, 2, 0)},
     .given = (const double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
     .want = (const double[]){0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11},
     .n_want = 12},
    {.name = "vector", .n_in = 1, .in = {AS_IN(F32, 9)}},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F32}}},
    {.name = "15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}},
    {.name = "16x8", .n_in = 1, .in = {AS_IN(F32, 16, 8)}},
    {.name = "31x33", .n_in = 1, .in = {AS_IN(F32, 31, 33)}},
    {.name = "NCHW to NHWC", .n_in = 1, .in = {AS_IN(F32, 2, 3, 7, 9)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("perm", 0, 2, 3, 1)}},
    {.name = "NHWC to NCHW", .n_in = 1, .in = {AS_IN(F64, 2, 7, 9, 3)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("perm", 0, 3, 1, 2)}},
    {.name = "i32", .n_in = 1, .in = {AS_IN(I32, 3, 8)}, .lo = -1000, .hi = 1000, .no_grad = true},
    {.name = "many planes", .n_in = 1, .in = {AS_IN(F32, 3, 9, 10)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("perm", 0, 2, 1)}},
    {.name = "the last axis stays", .n_in = 1, .in = {AS_IN(F32, 3, 4, 5)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("perm", 1, 0, 2)}},
    {.name = "four axes crossed",
     .n_in = 1,
     .in = {AS_IN(F32, 9, 2, 3, 17)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", 3, 1, 0, 2)}},
    {.name = "a wide one", .n_in = 1, .in = {AS_IN(F32, 521, 3)}},
    {.name = "three rows", .n_in = 1, .in = {AS_IN(F32, 3, 40)}},
    {.name = "u8",
     .n_in = 1,
     .in = {AS_IN(U8, 5, 17, 3)},
     .lo = 0,
     .hi = 255,
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", 2, 0, 1)}},
    {.name = "f16, the last axis stays",
     .n_in = 1,
     .in = {AS_IN(F16, 5, 7, 3)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", 1, 0, 2)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 3)}},
};

/* No flops: every element is read and written once. */
const as_op as_op_transpose = {
    .name = "Transpose",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

/* op_tile.c - repeats the whole tensor along each axis, as often as `repeats` says. */
#include "op/shape/move.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape y = n->in[0].shape;
    int64_t  repeats[AS_MAX_RANK];
    int      count;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_rule_ints(env, n, 1, "repeats", repeats, &count));
    if (count != y.rank)
        return as_refuse(env, n, "repeats has %d values and the input %s has rank %d", count, AS_SHOW(&y), y.rank);
    for (int i = 0; i < count; i++) {
        if (repeats[i] < 0)
            return as_refuse(env, n, "repeats[%d] is %lld", i, (long long)repeats[i]);
        if (__builtin_mul_overflow(y.dim[i], repeats[i], &y.dim[i]))
            return as_refuse(env, n, "axis %d of %s repeated %lld times is too large", i, AS_SHOW(&n->in[0].shape),
                             (long long)repeats[i]);
    }
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* Copies the first tile, then repeats what is there, axis by axis from the last: each repeat is one copy. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    const as_shape *x = &in[0].shape, *y = &out[0].shape;
    if (as_shape_count(y) == 0)
        return ASSAY_OK;
    as_view done = out[0];
    done.shape = *x;
    as_view_copy(&done, &in[0]);
    for (int axis = x->rank - 1; axis >= 0; axis--) {
        as_view next = done;
        for (int64_t at = x->dim[axis]; at < y->dim[axis]; at += x->dim[axis]) {
            next.data = (char *)done.data + at * done.stride[axis] * (int64_t)as_dtype_bytes(done.dtype);
            as_view_copy(&next, &done);
        }
        done.shape.dim[axis] = y->dim[axis];
    }
    return ASSAY_OK;
}

/* Splits each axis into repeats and elements, and sums over the repeats. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    const as_shape *x = &n->in[0].shape;
    as_shape        y = n->out[0].shape;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    if (as_shape_count(&y) == 0) {
        d_in[0] = as_b_blank(b, n->in[0].dtype, x);
        return ASSAY_OK;
    }
    int dx = d_out[0];
    for (int axis = 0; axis < x->rank && dx >= 0; axis++) {
        int64_t repeats = y.dim[axis] / x->dim[axis], before = 1, behind = 1;
        if (repeats == 1)
            continue;
        for (int i = 0; i < y.rank; i++) {
            before *= i < axis ? y.dim[i] : 1;
            behind *= i > axis ? y.dim[i] : 1;
        }
        as_attr flat = AS_ATTR_I("keepdims", 0);
        int     apart = as_b_reshape(b, dx, &AS_SHAPE(before, repeats, x->dim[axis], behind)),
            first = as_b_ints(b, (const int64_t[]){1}, 1);
        dx = apart < 0 || first < 0 ? -1 : b->node(b, "ReduceSum", (int[]){apart, first}, 2, &flat, 1, NULL, 1);
        y.dim[axis] = x->dim[axis];
    }
    d_in[0] = as_b_reshape(b, dx, x);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* numpy: tile([[1,2],[3,4]], (2,2)). */
    {.name = "2x2 by numpy",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN_INTS(2, 2)},
     AS_GIVEN(1, 2, 3, 4),
     AS_WANT(1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4)},
    {.name = "u8 by numpy",
     .n_in = 2,
     .in = {AS_IN(U8, 3), AS_IN_INTS(2)},
     .no_grad = true,
     AS_GIVEN(1, 2, 3),
     AS_WANT(1, 2, 3, 1, 2, 3)},
    {.name = "the outer and the inner axis", .n_in = 2, .in = {AS_IN(F32, 2, 3, 5), AS_IN_INTS(3, 1, 2)}},
    {.name = "as it is", .n_in = 2, .in = {AS_IN(F64, 2, 3), AS_IN_INTS(1, 1)}},
    {.name = "never", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN_INTS(0, 2)}},
    {.name = "a scalar",
     .n_in = 2,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}}},
    {.name = "five axes", .n_in = 2, .in = {AS_IN(F32, 2, 1, 3, 2, 1), AS_IN_INTS(2, 3, 1, 2, 2)}},
};

const as_op as_op_tile = {
    .name = "Tile",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

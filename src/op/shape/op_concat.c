/* op_concat.c - tensors one after the other along an axis. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT, .required = true}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape y = n->in[0].shape;
    int      axis;
    AS_TRY(as_rule_dtype(env, n, 0, n->n_in, AS_SET_ANY));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), y.rank, &axis));
    for (int i = 1; i < n->n_in; i++) {
        if (!as_in_has(n, i))
            return as_refuse(env, n, "input %d of %d is absent", i, n->n_in);
        as_shape x = n->in[i].shape;
        int64_t  size = x.rank == y.rank ? x.dim[axis] : 0;
        if (x.rank == y.rank)
            x.dim[axis] = n->in[0].shape.dim[axis];
        if (!as_shape_same(&x, &n->in[0].shape))
            return as_refuse(env, n, "input 0 is %s and input %d is %s: they may differ in axis %d alone", AS_SHOW(&n->in[0].shape),
                             i, AS_SHOW(&n->in[i].shape), axis);
        if (__builtin_add_overflow(y.dim[axis], size, &y.dim[axis]))
            return as_refuse(env, n, "the sizes along axis %d add up to more than 64 bits", axis);
    }
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static int axis_of(const as_node_ctx *n)
{
    int64_t axis = as_attr_int(n, "axis", 0);
    return (int)(axis < 0 ? axis + n->in[0].shape.rank : axis);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int     axis = axis_of(n);
    int64_t at = 0;
    for (int i = 0; i < n->n_in; i++) {
        int64_t size = in[i].shape.dim[axis];
        as_view part = as_view_part(&out[0], axis, at, 1, size);
        as_view_copy(&part, &in[i]);
        at += size;
    }
    return ASSAY_OK;
}

/* Each input gets its part. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    int64_t axis = axis_of(n), at = 0, end;
    bool    wanted = d_out[0] >= 0 && as_dtype_is_float(n->in[0].dtype);
    for (int i = 0; i < n->n_in; i++) {
        end = at + n->in[i].shape.dim[axis];
        d_in[i] = !wanted
                      ? -1
                      : b->node(b, "Slice", (int[]){d_out[0], as_b_ints(b, &at, 1), as_b_ints(b, &end, 1), as_b_ints(b, &axis, 1)},
                                4, NULL, 0, NULL, 1);
        at = end;
    }
    return ASSAY_OK;
}

#define AXIS(axis_) .n_attrs = 1, .attrs = {AS_ATTR_I("axis", axis_)}

static const as_case cases[] = {
    /* numpy: concatenate(([[1,2],[3,4]], [[5],[6]]), axis=1). */
    {.name = "columns by numpy",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2, 1)},
     AXIS(1),
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(1, 2, 5, 3, 4, 6)},
    {.name = "rows by numpy",
     .n_in = 3,
     .in = {AS_IN(I64, 1, 2), AS_IN(I64, 2, 2), AS_IN(I64, 0, 2)},
     AXIS(-2),
     .no_grad = true,
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(1, 2, 3, 4, 5, 6)},
    {.name = "one", .n_in = 1, .in = {AS_IN(F32, 7)}, AXIS(0)},
    {.name = "six vectors",
     .n_in = 6,
     .in = {AS_IN(F32, 1), AS_IN(F32, 8), AS_IN(F32, 9), AS_IN(F32, 2), AS_IN(F32, 0), AS_IN(F32, 3)},
     AXIS(-1)},
    {.name = "channels", .n_in = 2, .in = {AS_IN(F32, 2, 3, 5, 7), AS_IN(F32, 2, 8, 5, 7)}, AXIS(1)},
    {.name = "bool", .n_in = 2, .in = {AS_IN(BOOL, 3, 2), AS_IN(BOOL, 3, 1)}, AXIS(1), .lo = 0, .hi = 2, .no_grad = true},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 3, 2), AS_IN(F16, 3, 4)}, AXIS(-1)},
    {.name = "u16", .n_in = 2, .in = {AS_IN(U16, 5), AS_IN(U16, 4)}, AXIS(0), .lo = 0, .hi = 60000, .no_grad = true},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN(F32, 0, 2)}, AXIS(1)},
};

const as_op as_op_concat = {
    .name = "Concat",
    .min_in = 1,
    .max_in = AS_MAX_IN,
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

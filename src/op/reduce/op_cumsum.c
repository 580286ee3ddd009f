/* op_cumsum.c - running sums along an axis: `exclusive` leaves out the element itself, `reverse` runs from the end. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "exclusive", .kind = AS_ATTR_INT}, {.name = "reverse", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_WIDE));
    AS_TRY(as_rule_index(env, n, 1, "axis", true));
    if (n->in[1].shape.rank > 1 || as_shape_count(&n->in[1].shape) != 1)
        return as_refuse(env, n, "axis (input 1) is %s and must be one number", AS_SHOW(&n->in[1].shape));
    if (n->in[0].shape.rank == 0)
        return as_refuse(env, n, "the input is a scalar and has no axis to sum along");
    if (n->in[1].constant) {
        int64_t axis;
        int     count, ignored;
        AS_TRY(as_rule_numbers(env, n, 1, "axis", 1, &axis, &count));
        AS_TRY(as_rule_axis(env, n, axis, n->in[0].shape.rank, &ignored));
    }
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static void line_sum(const as_view *x, const as_view *y, bool exclusive)
{
    bool     is_float = as_dtype_is_float(x->dtype);
    double   sum = 0.0;
    uint64_t whole = 0;
    for (int64_t i = 0; i < x->shape.dim[0]; i++) {
        as_view from = as_view_nth(x, i), to = as_view_nth(y, i);
        double  before = sum;
        if (is_float) {
            sum += as_view_get(&from, 0);
            as_view_set(&to, 0, exclusive ? before : sum);
        } else {
            uint64_t whole_before = whole;
            whole += as_bits_get(&from);
            as_bits_set(&to, exclusive ? whole_before : whole);
        }
    }
}

/* A reversed sum is a sum over views that run backwards. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    bool    exclusive = as_attr_int(n, "exclusive", 0) != 0, reverse = as_attr_int(n, "reverse", 0) != 0;
    as_view one = as_view_nth(&in[1], 0);
    int     axis, rank = in[0].shape.rank;
    AS_TRY(as_rule_axis(env, n, (int64_t)as_bits_get(&one), rank, &axis));
    if (as_shape_count(&in[0].shape) == 0)
        return ASSAY_OK;
    int64_t length = in[0].shape.dim[axis], index[AS_MAX_RANK] = {0};
    as_view x = as_view_part(&in[0], axis, reverse ? length - 1 : 0, reverse ? -1 : 1, length),
            y = as_view_part(&out[0], axis, reverse ? length - 1 : 0, reverse ? -1 : 1, length);
    as_shape lines = in[0].shape;
    lines.dim[axis] = 1;
    do {
        AS_GO_ON(env, n);
        as_view from = as_view_fix(&x, index, rank), to = as_view_fix(&y, index, rank);
        from.shape = to.shape = AS_SHAPE(length);
        from.stride[0] = x.stride[axis];
        to.stride[0] = y.stride[axis];
        line_sum(&from, &to, exclusive);
    } while (as_index_next(&lines, index));
    return ASSAY_OK;
}

/* x[i] is part of the sums after it, so the gradient is summed in the other direction. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    as_attr list[] = {AS_ATTR_I("exclusive", as_attr_int(n, "exclusive", 0)),
                      AS_ATTR_I("reverse", as_attr_int(n, "reverse", 0) == 0)};
    d_in[0] = b->node(b, "CumSum", (int[]){d_out[0], in[1]}, 2, list, 2, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* numpy: cumsum of [[1,2,3],[4,5,6]]. */
    {.name = "rows by numpy",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 3), AS_IN_INT(1)},
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(1, 3, 6, 4, 9, 15)},
    {.name = "columns by numpy",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INT(-2)},
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(1, 2, 3, 5, 7, 9)},
    /* ONNX's example of both. */
    {.name = "exclusive reverse by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN_INTS(0)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("exclusive", 1), AS_ATTR_I("reverse", 1)},
     AS_GIVEN(1, 2, 3),
     AS_WANT(5, 3, 0)},
    {.name = "u32 wraps",
     .n_in = 2,
     .in = {AS_IN(U32, 3), AS_IN_INT(0)},
     .no_grad = true,
     AS_GIVEN(4294967295.0, 2, 3),
     AS_WANT(4294967295.0, 1, 4)},
    {.name = "i32 reverse by hand",
     .n_in = 2,
     .in = {AS_IN(I32, 4), AS_IN_INT(0)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("reverse", 1)},
     .no_grad = true,
     AS_GIVEN(1, -2, 3, 4),
     AS_WANT(6, 5, 7, 4)},
    {.name = "middle axis", .n_in = 2, .in = {AS_IN(F32, 3, 8, 5), AS_IN_INT(1)}},
    {.name = "exclusive", .n_in = 2, .in = {AS_IN(F32, 3, 17), AS_IN_INT(1)}, .n_attrs = 1, .attrs = {AS_ATTR_I("exclusive", 1)}},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 9), AS_IN_INT(0)}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN_INT(1)}},
    {.name = "f32 along the first of 9x70", .n_in = 2, .in = {AS_IN(F32, 9, 70), AS_IN_INT(0)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i64 along the first of 9x70", .n_in = 2, .in = {AS_IN(I64, 9, 70), AS_IN_INT(0)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i32 along the first of 9x70", .n_in = 2, .in = {AS_IN(I32, 9, 70), AS_IN_INT(0)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "f64 along the first of 9x70", .n_in = 2, .in = {AS_IN(F64, 9, 70), AS_IN_INT(0)}, .lo = -9, .hi = 9, .no_grad = true},
};

/* One addition per element after the first of its line, which is nearly one per element. */
const as_op as_op_cumsum = {
    .name = "CumSum",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* long f32 sums, as in ReduceSum */
};

/* op_cumprod.c - running products along an axis: `exclusive` leaves out the element itself, `reverse` runs from the end. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "exclusive", .kind = AS_ATTR_INT}, {.name = "reverse", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_WIDE));
    AS_TRY(as_rule_index(env, n, 1, "axis", true));
    if (n->in[1].shape.rank > 1 || as_shape_count(&n->in[1].shape) != 1)
        return as_refuse(env, n, "axis (input 1) is %s and must be one number", AS_SHOW(&n->in[1].shape));
    if (n->in[0].shape.rank == 0)
        return as_refuse(env, n, "the input is a scalar and has no axis to multiply along");
    if (n->in[1].constant) {
        int64_t axis;
        int     count, ignored;
        AS_TRY(as_rule_numbers(env, n, 1, "axis", 1, &axis, &count));
        AS_TRY(as_rule_axis(env, n, axis, n->in[0].shape.rank, &ignored));
    }
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static void line_product(const as_view *x, const as_view *y, bool exclusive)
{
    bool     is_float = as_dtype_is_float(x->dtype);
    double   product = 1.0;
    uint64_t whole = 1;
    for (int64_t i = 0; i < x->shape.dim[0]; i++) {
        as_view from = as_view_nth(x, i), to = as_view_nth(y, i);
        double  before = product;
        if (is_float) {
            product *= as_view_get(&from, 0);
            as_view_set(&to, 0, exclusive ? before : product);
        } else {
            uint64_t whole_before = whole;
            whole *= as_bits_get(&from);
            as_bits_set(&to, exclusive ? whole_before : whole);
        }
    }
}

/* A reversed product is one over views that run backwards. */
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
        line_product(&from, &to, exclusive);
    } while (as_index_next(&lines, index));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "rows",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INT(1)},
     AS_GIVEN(2.68000007, 2.06999993, 1.08000004, 1.19000006, 2.5999999, 1.79999995),
     AS_WANT(2.68000007, 5.54759979, 5.99140787, 1.19000006, 3.0940001, 5.56920004)},
    /* By the ONNX reference evaluator. */
    {.name = "exclusive, reverse",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN_INT(0)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("exclusive", 1), AS_ATTR_I("reverse", 1)},
     AS_GIVEN(2.3599999, 2, 1.78999996),
     AS_WANT(3.57999992, 1.78999996, 1)},
    /* By the ONNX reference evaluator. */
    {.name = "i32", .n_in = 2, .in = {AS_IN(I32, 2, 3), AS_IN_INT(0)}, AS_GIVEN(1, 1, 2, 2, 2, 3), AS_WANT(1, 1, 2, 2, 2, 6)},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN_INT(1)}},
};

const as_op as_op_cumprod = {
    .name = "CumProd",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval,
    /* no gradient: it would divide by x, which may be 0 */
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* long f32 sums, as in ReduceSum */
};

/* op_reducesum.c - sums along axes; the axes are a constant input. Without it the sum runs over all
 * axes, or over none if noop_with_empty_axes says so. */
#include "op/reduce/reduce.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_reduce_eval(env, n, in, out, as_terms_sum, as_terms_sum_bits);
}

/* Each term gets the gradient of its sum. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in;
    const as_shape *x = &n->in[0].shape;
    int             dy;
    if (!as_reduce_grad_start(b, n, out, d_out, d_in, &dy, NULL))
        return ASSAY_OK;
    if (dy >= 0 && !as_shape_same(&b->info(b, dy)->shape, x))
        dy = as_b2(b, "Expand", dy, as_b_ints(b, x->dim, (size_t)x->rank));
    d_in[0] = dy;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the rows of [[1,2,3],[4,5,6]]. */
    {.name = "rows by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){6, 15},
     .n_want = 2},
    /* By hand: the columns. */
    {.name = "columns by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 3), AS_IN_INTS(-2)},
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){5, 7, 9},
     .n_want = 3},
    /* By hand: without axes, all of them. */
    {.name = "all by hand",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 2)},
     .no_grad = true,
     .given = (const double[]){1, -2, 3, 40},
     .want = (const double[]){42},
     .n_want = 1},
    /* By hand: without axes, nothing is summed when it is a no-op. */
    {.name = "no-op by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)},
     .given = (const double[]){1, 2, 3},
     .want = (const double[]){1, 2, 3},
     .n_want = 3},
    /* By hand: the sum of no terms is 0. */
    {.name = "of nothing by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 0), AS_IN_INTS(1)},
     .given = (const double[]){0},
     .want = (const double[]){0, 0},
     .n_want = 2},
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}},
    {.name = "rows of 7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN_INTS(1)}},
    {.name = "columns of 16x17",
     .n_in = 2,
     .in = {AS_IN(F32, 16, 17), AS_IN_INTS(0)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.name = "all of 31x33", .n_in = 1, .in = {AS_IN(F32, 31, 33)}, .n_attrs = 1, .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.name = "all but channels",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 8, 5, 7), AS_IN_INTS(0, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.name = "f64 outer and inner", .n_in = 2, .in = {AS_IN(F64, 3, 8, 15), AS_IN_INTS(-1, 0)}},
    {.name = "i64 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i64 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i64 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i32 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i32 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i32 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "f64 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "f64 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "f64 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "short lines", .n_in = 2, .in = {AS_IN(F32, 37, 19), AS_IN_INTS(1)}, .lo = -1, .hi = 1, .no_grad = true},
};

const as_op as_op_reducesum = {
    .name = "ReduceSum",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = as_reduce_attrs,
    .infer = as_reduce_infer_sum,
    .cost = as_reduce_cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* long f32 sums, as in MatMul */
};

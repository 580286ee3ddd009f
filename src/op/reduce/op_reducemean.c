/* op_reducemean.c - means along axes; the axes are a constant input.  ONNX does not define the mean of no terms: this
 * gives NaN, as numpy does, and 0 for integers.  The mean of integers is rounded towards zero. */
#include <math.h>

#include "op/reduce/reduce.h"

static double real(const as_terms *t) { return t->count ? as_terms_sum(t) / (double)t->count : NAN; }

static uint64_t whole(const as_terms *t)
{
    uint64_t sum = as_bits_wrap(t->dtype, as_terms_sum_bits(t)); /* the sum has the dtype, as in numpy */
    if (t->count == 0)
        return 0;
    return t->dtype == AS_U64 ? sum / (uint64_t)t->count : (uint64_t)((int64_t)sum / t->count);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_reduce_eval(env, n, in, out, real, whole);
}

/* The sum's flops and one division per output. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_reduce_cost(n);
    cost.flops = as_sat_add(cost.flops, as_sat_count(&n->out[0].shape));
    return cost;
}

/* Each of L terms gets 1/L of the gradient of its mean. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in;
    const as_shape *x = &n->in[0].shape;
    int             dy;
    if (!as_reduce_grad_start(b, n, out, d_out, d_in, &dy, NULL) || dy < 0)
        return ASSAY_OK;
    as_shape kept = b->info(b, dy)->shape;
    int64_t  count = as_shape_count(&kept);
    double   share = count ? (double)count / (double)as_shape_count(x) : 0.0;
    dy = as_b2(b, "Mul", dy, as_b_scalar(b, n->in[0].dtype, share));
    d_in[0] = as_shape_same(&kept, x) ? dy : as_b2(b, "Expand", dy, as_b_ints(b, x->dim, (size_t)x->rank));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "rows by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){1, 2, 3, 4, 5, 9},
     .want = (const double[]){2, 6},
     .n_want = 2},
    {.name = "columns by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 3), AS_IN_INTS(-2)},
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){2.5, 3.5, 4.5},
     .n_want = 3},
    /* By hand: rounded towards zero, not down. */
    {.name = "i32 by hand",
     .n_in = 2,
     .in = {AS_IN(I32, 2, 2), AS_IN_INTS(1)},
     .no_grad = true,
     .given = (const double[]){-3, -4, 3, 4},
     .want = (const double[]){-3, 3},
     .n_want = 2},
    {.name = "no-op by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)},
     .given = (const double[]){1, 2, 3},
     .want = (const double[]){1, 2, 3},
     .n_want = 3},
    {.name = "i64 of nothing by hand",
     .n_in = 2,
     .in = {AS_IN(I64, 2, 0), AS_IN_INTS(1)},
     .no_grad = true,
     .given = (const double[]){0},
     .want = (const double[]){0, 0},
     .n_want = 2},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F64}}},
    {.name = "rows of 7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN_INTS(1)}},
    {.name = "all of 31x33", .n_in = 1, .in = {AS_IN(F32, 31, 33)}, .n_attrs = 1, .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.name = "all but channels", .n_in = 2, .in = {AS_IN(F32, 3, 8, 5, 7), AS_IN_INTS(0, 2, 3)}},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 4, 5), AS_IN_INTS(0)}},
    {.name = "no rows", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN_INTS(1)}},
    {.name = "i64 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "i64 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "i64 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "i32 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "i32 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "i32 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "f64 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "f64 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "f64 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "short lines", .n_in = 2, .in = {AS_IN(F32, 37, 19), AS_IN_INTS(1)}, .lo = -1, .hi = 1, .no_grad = true},
};

const as_op as_op_reducemean = {
    .name = "ReduceMean",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = as_reduce_attrs,
    .infer = as_reduce_infer_sum,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

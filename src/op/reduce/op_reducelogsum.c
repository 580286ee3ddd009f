/* op_reducelogsum.c - logarithms of sums along axes; the axes are a constant input. Without terms it is minus infinity. */
#include <math.h>

#include "op/reduce/reduce.h"

static double real(const as_terms *t) { return log(as_terms_sum(t)); }

static uint64_t whole(const as_terms *t)
{
    return as_bits_cut(t->dtype, log(as_bits_real(t->dtype, as_bits_wrap(t->dtype, as_terms_sum_bits(t)))));
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_reduce_eval(env, n, in, out, real, whole);
}

/* The sum's flops and one logarithm per output. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_reduce_cost(n);
    cost.special = as_sat_count(&n->out[0].shape);
    return cost;
}

/* dx = dy / sum. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    const as_shape *x = &n->in[0].shape;
    int             dy, each;
    if (!as_reduce_grad_start(b, n, out, d_out, d_in, &dy, NULL))
        return ASSAY_OK;
    each = as_b2(b, "Div", dy, as_reduce_grad_sum(b, n, in[0]));
    if (each >= 0 && !as_shape_same(&b->info(b, each)->shape, x))
        each = as_b2(b, "Expand", each, as_b_ints(b, x->dim, (size_t)x->rank));
    d_in[0] = each;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the logarithms of 1, 2, 4 are multiples of that of 2. */
    {.name = "rows by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), AS_IN_INTS(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){0.5, 0.5, 0.5, 1.5, 3, 1},
     .want = (const double[]){0, 0.6931471805599453, 1.3862943611198906},
     .n_want = 3},
    {.name = "i32 by hand",
     .n_in = 2,
     .in = {AS_IN(I32, 2, 2), AS_IN_INTS(0)},
     .given = (const double[]){1, 30, 1, 40},
     .want = (const double[]){0, 4},
     .n_want = 2},
    {.name = "of nothing", .n_in = 2, .in = {AS_IN(F32, 2, 0), AS_IN_INTS(1)}, .no_grad = true},
    /* By hand: nothing is summed, but the logarithms are still taken. */
    {.name = "no-op by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)},
     .given = (const double[]){1, 2, 4},
     .want = (const double[]){0, 0.6931471805599453, 1.3862943611198906},
     .n_want = 3},
    AS_CASES_REDUCE(0.5, 1.5),
    {.name = "lines of 70", .n_in = 2, .in = {AS_IN(F32, 3, 70), AS_IN_INTS(1)}, .lo = 0.5, .hi = 2, .no_grad = true},
    {.name = "columns of 9x300", .n_in = 2, .in = {AS_IN(F32, 9, 300), AS_IN_INTS(0)}, .lo = 0.5, .hi = 2, .no_grad = true},
};

const as_op as_op_reducelogsum = {
    .name = "ReduceLogSum",
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
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

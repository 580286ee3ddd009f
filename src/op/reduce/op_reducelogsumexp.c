/* op_reducelogsumexp.c - logarithms of sums of exponentials along axes, shifted by the largest so that nothing
 * overflows. Without terms it is minus infinity. */
#include <math.h>

#include "op/reduce/reduce.h"

static double value(const as_terms *t, int64_t i)
{
    return as_dtype_is_float(t->dtype) ? as_term(t, i) : as_bits_real(t->dtype, as_term_bits(t, i));
}

static double real(const as_terms *t)
{
    double max = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < t->count; i++)
        max = fmax(max, value(t, i));
    if (!isfinite(max)) /* infinity minus itself would be NaN; a NaN among the terms still gives NaN */
        max = 0.0;
    for (int64_t i = 0; i < t->count; i++)
        sum += exp(value(t, i) - max);
    return max + log(sum);
}

static uint64_t whole(const as_terms *t) { return as_bits_cut(t->dtype, real(t)); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_reduce_eval(env, n, in, out, real, whole);
}

/* Per L terms: L - 1 comparisons, L subtractions and L - 1 additions; special: L exponentials and a logarithm. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_reduce_cost(n);
    uint64_t x = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_add(as_sat_mul(2, cost.flops), x);
    cost.special = as_sat_add(x, as_sat_count(&n->out[0].shape));
    return cost;
}

/* dx = dy exp(x - y). */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int dy, y;
    if (as_reduce_grad_start(b, n, out, d_out, d_in, &dy, &y))
        d_in[0] = as_b2(b, "Mul", dy, as_b1(b, "Exp", as_b2(b, "Sub", in[0], y)));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: exp(0) + exp(0) is 2, exp(ln 3) + exp(0) is 4; a large shift only shifts. */
    {.name = "rows by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 3, 2), AS_IN_INTS(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){0, 0, 1.0986122886681098, 0, 1000, 1000},
     .want = (const double[]){0.6931471805599453, 1.3862943611198906, 1000.6931471805599},
     .n_want = 3},
    {.name = "i32 by hand",
     .n_in = 2,
     .in = {AS_IN(I32, 2, 2), AS_IN_INTS(0)},
     .given = (const double[]){1, 5, 1, 5},
     .want = (const double[]){1, 5},
     .n_want = 2},
    {.name = "of nothing", .n_in = 2, .in = {AS_IN(F32, 2, 0), AS_IN_INTS(1)}, .no_grad = true},
    {.name = "no-op by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)},
     .given = (const double[]){1, -2, 4},
     .want = (const double[]){1, -2, 4},
     .n_want = 3},
    AS_CASES_REDUCE(-1, 1),
    {.name = "lines of 70", .n_in = 2, .in = {AS_IN(F32, 3, 70), AS_IN_INTS(1)}, .lo = 0.5, .hi = 2, .no_grad = true},
    {.name = "columns of 9x300", .n_in = 2, .in = {AS_IN(F32, 9, 300), AS_IN_INTS(0)}, .lo = 0.5, .hi = 2, .no_grad = true},
};

const as_op as_op_reducelogsumexp = {
    .name = "ReduceLogSumExp",
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

/* op_reducel2.c - roots of sums of squares along axes; the axes are a constant input. For integers the root is rounded towards
 * zero. */
#include <math.h>

#include "op/reduce/reduce.h"

static double real(const as_terms *t)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->count; i++)
        sum += as_term(t, i) * as_term(t, i);
    return sqrt(sum);
}

static uint64_t whole(const as_terms *t)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->count; i++)
        sum += as_bits_real(t->dtype, as_term_bits(t, i)) * as_bits_real(t->dtype, as_term_bits(t, i));
    return as_bits_cut(t->dtype, sqrt(sum));
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_reduce_eval(env, n, in, out, real, whole);
}

/* One flop per term to square it, one less to add them up, one root per output. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_reduce_cost_changed(n);
    cost.flops = as_sat_add(cost.flops, as_sat_count(&n->out[0].shape));
    return cost;
}

/* dx = x dy / y; at 0 there is no gradient, which NaN shows. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int dy, y;
    if (as_reduce_grad_start(b, n, out, d_out, d_in, &dy, &y))
        d_in[0] = as_b2(b, "Mul", in[0], as_b2(b, "Div", dy, y));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "rows by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){1, 2, 2, -4, 0, 3},
     .want = (const double[]){3, 5},
     .n_want = 2},
    {.name = "i32 by hand",
     .n_in = 2,
     .in = {AS_IN(I32, 2, 2), AS_IN_INTS(0)},
     .given = (const double[]){1, -3, 1, 4},
     .want = (const double[]){1, 5},
     .n_want = 2},
    {.name = "of nothing by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 0), AS_IN_INTS(1)},
     .given = (const double[]){0},
     .want = (const double[]){0, 0},
     .n_want = 2},
    {.name = "no-op by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)},
     .given = (const double[]){1, -2, 3},
     .want = (const double[]){1, 2, 3},
     .n_want = 3},
    AS_CASES_REDUCE(-1, 1),
};

const as_op as_op_reducel2 = {
    .name = "ReduceL2",
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

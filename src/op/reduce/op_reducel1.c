/* op_reducel1.c - sums of absolute values along axes; the axes are a constant input. */
#include <math.h>

#include "op/reduce/reduce.h"

static double real(const as_terms *t)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->count; i++)
        sum += fabs(as_term(t, i));
    return sum;
}

static uint64_t whole(const as_terms *t)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t bits = as_term_bits(t, i);
        sum += as_bits_less(t->dtype, bits, 0) ? 0 - bits : bits;
    }
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_reduce_eval(env, n, in, out, real, whole);
}

/* dx = sign(x) dy. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int dy;
    if (as_reduce_grad_start(b, n, out, d_out, d_in, &dy, NULL))
        d_in[0] = as_b2(b, "Mul", as_b1(b, "Sign", in[0]), dy);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "rows by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){1, 3, 2, -4, -6, 0.5},
     .want = (const double[]){6, 10.5},
     .n_want = 2},
    {.name = "i32 by hand",
     .n_in = 2,
     .in = {AS_IN(I32, 2, 2), AS_IN_INTS(0)},
     .given = (const double[]){1, -2, -3, 4},
     .want = (const double[]){4, 6},
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

const as_op as_op_reducel1 = {
    .name = "ReduceL1",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = as_reduce_attrs,
    .infer = as_reduce_infer_sum,
    .cost = as_reduce_cost_changed,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

/* op_reduceprod.c - products along axes; the axes are a constant input.  Without terms it is 1; integers wrap. */
#include "op/reduce/reduce.h"

static double real(const as_terms *t)
{
    double product = 1.0;
    for (int64_t i = 0; i < t->count; i++)
        product *= as_term(t, i);
    return product;
}

static uint64_t whole(const as_terms *t)
{
    uint64_t product = 1;
    for (int64_t i = 0; i < t->count; i++)
        product *= as_term_bits(t, i);
    return product;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_reduce_eval(env, n, in, out, real, whole);
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "rows by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){1, 3, 2, -4, -6, 0.5},
     .want = (const double[]){6, 12},
     .n_want = 2},
    {.name = "zeros by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 3), AS_IN_INTS(0)},
     .given = (const double[]){1, 0, 2, -4, -6, 0},
     .want = (const double[]){-4, 0, 0},
     .n_want = 3},
    {.name = "i32 wraps by hand",
     .n_in = 1,
     .in = {AS_IN(I32, 2)},
     .given = (const double[]){65536, 65537},
     .want = (const double[]){65536},
     .n_want = 1},
    {.name = "of nothing by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 0), AS_IN_INTS(1)},
     .given = (const double[]){0},
     .want = (const double[]){1, 1},
     .n_want = 2},
    {.name = "no-op by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)},
     .given = (const double[]){1, 2, 3},
     .want = (const double[]){1, 2, 3},
     .n_want = 3},
    AS_CASES_REDUCE(0.5, 1.5),
    {.name = "i64 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "i64 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "i64 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I64, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "i32 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "i32 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "i32 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(I32, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "f64 all but the first of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(1, 2)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "f64 the middle of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(1)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "f64 the ends of 5x37x3",
     .n_in = 2,
     .in = {AS_IN(F64, 5, 37, 3), AS_IN_INTS(0, 2)},
     .lo = -2,
     .hi = 2,
     .no_grad = true},
    {.name = "short lines", .n_in = 2, .in = {AS_IN(F32, 37, 19), AS_IN_INTS(1)}, .lo = -1, .hi = 1, .no_grad = true},
};

const as_op as_op_reduceprod = {
    .name = "ReduceProd",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = as_reduce_attrs,
    .infer = as_reduce_infer_sum,
    .cost = as_reduce_cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

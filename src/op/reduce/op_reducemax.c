/* op_reducemax.c - the largest value along axes; the axes are a constant input.  Without terms it is the lowest value
 * of the dtype.  A NaN wins, as in numpy. */
#include <math.h>

#include "op/reduce/reduce.h"

static double real(const as_terms *t) { return t->count ? as_term(t, as_terms_best(t, true, false)) : -INFINITY; }

static uint64_t whole(const as_terms *t)
{
    return t->count ? as_term_bits(t, as_terms_best(t, true, false)) : as_bits_lowest(t->dtype);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_reduce_infer(env, n, AS_SET_REDUCE_ORDER, out);
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
     .given = (const double[]){1, 3, 2, -4, -6, -5},
     .want = (const double[]){3, -4},
     .n_want = 2},
    {.name = "bool by hand",
     .n_in = 2,
     .in = {AS_IN(BOOL, 2, 2), AS_IN_INTS(1)},
     .no_grad = true,
     .given = (const double[]){0, 1, 0, 0},
     .want = (const double[]){1, 0},
     .n_want = 2},
    {.name = "u8 by hand",
     .n_in = 1,
     .in = {AS_IN(U8, 3)},
     .no_grad = true,
     .given = (const double[]){3, 200, 127},
     .want = (const double[]){200},
     .n_want = 1},
    {.name = "i64 by hand",
     .n_in = 2,
     .in = {AS_IN(I64, 2, 2), AS_IN_INTS(0)},
     .no_grad = true,
     .given = (const double[]){-7, 9, -8, -9},
     .want = (const double[]){-7, 9},
     .n_want = 2},
    /* By hand: without terms it is the lowest value. */
    {.name = "i8 of nothing by hand",
     .n_in = 2,
     .in = {AS_IN(I8, 2, 0), AS_IN_INTS(1)},
     .no_grad = true,
     .given = (const double[]){0},
     .want = (const double[]){-128, -128},
     .n_want = 2},
    {.name = "f32 of nothing", .n_in = 2, .in = {AS_IN(F32, 2, 0), AS_IN_INTS(1)}, .no_grad = true},
    {.name = "no-op by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)},
     .given = (const double[]){1, 2, 3},
     .want = (const double[]){1, 2, 3},
     .n_want = 3},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F64}}},
    {.name = "rows of 7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN_INTS(1)}},
    {.name = "all of 15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}, .n_attrs = 1, .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.name = "all but channels",
     .n_in = 2,
     .in = {AS_IN(F64, 3, 8, 5, 7), AS_IN_INTS(0, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.name = "bf16", .n_in = 2, .in = {AS_IN(BF16, 4, 5), AS_IN_INTS(0)}, .no_grad = true},
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

/* One comparison per term after the first counts as one flop. */
const as_op as_op_reducemax = {
    .name = "ReduceMax",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = as_reduce_attrs,
    .infer = infer,
    .cost = as_reduce_cost,
    .eval = eval,
    .grad = as_reduce_grad_order,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

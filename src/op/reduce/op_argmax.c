/* op_argmax.c - the index of the largest value along one axis, as i64. */
#include "op/reduce/reduce.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    return as_arg_eval(env, n, in, out, true);
}

static const as_case cases[] = {
    /* By hand: the first of equals. */
    {.name = "rows by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)},
     .given = (const double[]){1, 3, 3, -4, -4, -3},
     .want = (const double[]){1, 2},
     .n_want = 2},
    /* By hand: the last of equals. */
    {.name = "the last by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("axis", -1), AS_ATTR_I("select_last_index", 1), AS_ATTR_I("keepdims", 0)},
     .given = (const double[]){1, 3, 3, -4, -4, -3},
     .want = (const double[]){2, 2},
     .n_want = 2},
    /* By hand: without the attribute the axis is the first. */
    {.name = "columns by hand",
     .n_in = 1,
     .in = {AS_IN(I32, 2, 3)},
     .given = (const double[]){1, 3, 2, -4, 6, 2},
     .want = (const double[]){0, 1, 0},
     .n_want = 3},
    {.name = "u8 by hand",
     .n_in = 1,
     .in = {AS_IN(U8, 3)},
     .given = (const double[]){127, 128, 5},
     .want = (const double[]){1},
     .n_want = 1},
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}},
    {.name = "16x17", .n_in = 1, .in = {AS_IN(F32, 16, 17)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", 1)}},
    {.name = "middle axis",
     .n_in = 1,
     .in = {AS_IN(F64, 3, 9, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 1), AS_ATTR_I("keepdims", 0)}},
    {.name = "i64", .n_in = 1, .in = {AS_IN(I64, 5, 7)}, .lo = -9, .hi = 9},
    {.name = "no rows", .n_in = 1, .in = {AS_IN(F32, 0, 3)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", 1)}},
};

/* One comparison per term after the first counts as one flop. */
const as_op as_op_argmax = {
    .name = "ArgMax",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = as_arg_attrs,
    .infer = as_arg_infer,
    .cost = as_reduce_cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

/* op_min.c - the smallest of all inputs: element by element, with broadcasting; a NaN in one of them wins. */
#include "op/reduce/extreme.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_extreme_eval(n, in, out, AS_LESS);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "f32",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     .given = (const double[]){1, -2, 3.5, 0, -5, 6, 1.5, 2, -5.5},
     .want = (const double[]){1, -2, -5.5, 0, -5, -5.5},
     .n_want = 6},
    {.name = "i8",
     .n_in = 3,
     .in = {AS_IN(I8, 3), AS_IN(I8, 3), {.dtype = AS_I8}},
     .given = (const double[]){-128, 127, 5, 127, -128, 4, 0},
     .want = (const double[]){-128, -128, 0},
     .n_want = 3,
     .no_grad = true},
    {.name = "u64",
     .n_in = 2,
     .in = {AS_IN(U64, 2), {.dtype = AS_U64}},
     .given = (const double[]){9.223372036854776e+18, 7, 8},
     .want = (const double[]){8, 7},
     .n_want = 2,
     .no_grad = true},
    AS_CASES_MANY,
    {.name = "i16", .n_in = 2, .in = {AS_IN(I16, 9), AS_IN(I16, 1)}, .lo = -100, .hi = 100},
    /* Beyond a strip of the kernels, with a value on either side. */
    {.name = "u32 3x37", .n_in = 2, .in = {AS_IN(U32, 3, 37), AS_IN(U32, 3, 37)}, .lo = 0, .hi = 100, .no_grad = true},
    {.name = "u64 3x37", .n_in = 2, .in = {AS_IN(U64, 3, 37), AS_IN(U64, 3, 37)}, .lo = 0, .hi = 100, .no_grad = true},
    {.name = "i8 3x37", .n_in = 2, .in = {AS_IN(I8, 3, 37), AS_IN(I8, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "i64 3x37", .n_in = 2, .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "f64 3x37", .n_in = 2, .in = {AS_IN(F64, 3, 37), AS_IN(F64, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "u32 3x37 and a column", .n_in = 2, .in = {AS_IN(U32, 3, 37), AS_IN(U32, 3, 1)}, .lo = 0, .hi = 100, .no_grad = true},
    {.name = "u32 a value and 70", .n_in = 2, .in = {AS_IN(U32, 1), AS_IN(U32, 70)}, .lo = 0, .hi = 100, .no_grad = true},
};

const as_op as_op_min = {
    .name = "Min",
    .min_in = 1,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = 1,
    .infer = as_extreme_infer,
    .cost = as_extreme_cost,
    .eval = eval,
    .grad = as_extreme_grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

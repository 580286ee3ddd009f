/* op_bitwiseor.c - A | B, bit by bit: element by element, with broadcasting. */
#include "op/rules.h"

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "i32",
     .n_in = 2,
     .in = {AS_IN(I32, 4), AS_IN(I32, 4)},
     .given = (const double[]){12, -1, -2147483648, 7, 10, 5, -1, 0},
     .want = (const double[]){14, -1, -1, 7},
     .n_want = 4},
    {.name = "u8",
     .n_in = 2,
     .in = {AS_IN(U8, 3), AS_IN(U8, 3)},
     .given = (const double[]){255, 170, 3, 15, 85, 6},
     .want = (const double[]){255, 255, 7},
     .n_want = 3},
    {.name = "i16 and a scalar",
     .n_in = 2,
     .in = {AS_IN(I16, 3), {.dtype = AS_I16}},
     .given = (const double[]){-1, 300, 5, -255},
     .want = (const double[]){-1, -211, -251},
     .n_want = 3},
    {.name = "u64",
     .n_in = 2,
     .in = {AS_IN(U64, 2), AS_IN(U64, 2)},
     .given = (const double[]){9.223372036854776e+18, 5, 9.223372036854776e+18, 4.611686018427388e+18},
     .want = (const double[]){9.223372036854776e+18, 4.611686018427388e+18},
     .n_want = 2},
    AS_CASES_TWO(I32, -100, 100),
    /* Beyond a strip of the kernels, with a value on either side. */
    {.name = "u32 3x37", .n_in = 2, .in = {AS_IN(U32, 3, 37), AS_IN(U32, 3, 37)}, .lo = 0, .hi = 100, .no_grad = true},
    {.name = "i8 3x37", .n_in = 2, .in = {AS_IN(I8, 3, 37), AS_IN(I8, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "u32 3x37 and a column", .n_in = 2, .in = {AS_IN(U32, 3, 37), AS_IN(U32, 3, 1)}, .lo = 0, .hi = 100, .no_grad = true},
    {.name = "u32 a value and 70", .n_in = 2, .in = {AS_IN(U32, 1), AS_IN(U32, 70)}, .lo = 0, .hi = 100, .no_grad = true},
};

const as_op as_op_bitwiseor = {
    .name = "BitwiseOr",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_bits,
    .cost = as_cost_each,
    .eval = as_eval_or, /* no gradient: integers have none */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

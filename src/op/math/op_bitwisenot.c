/* op_bitwisenot.c - y = x with every bit inverted, element by element. */
#include "op/rules.h"

static uint64_t whole(uint64_t x) { return ~x; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_any(&in[0], &out[0], NULL, whole);
    return ASSAY_OK;
}

static const as_case cases[] = {
    {.name = "u8",
     .n_in = 1,
     .in = {AS_IN(U8, 4)},
     .given = (const double[]){0, 1, 255, 170},
     .want = (const double[]){255, 254, 0, 85},
     .n_want = 4,
     .no_grad = true},
    {.name = "i32",
     .n_in = 1,
     .in = {AS_IN(I32, 4)},
     .given = (const double[]){0, -1, 2147483647, -5},
     .want = (const double[]){-1, 0, -2147483648, 4},
     .n_want = 4,
     .no_grad = true},
    {.name = "u16",
     .n_in = 1,
     .in = {AS_IN(U16, 2)},
     .given = (const double[]){0, 65535},
     .want = (const double[]){65535, 0},
     .n_want = 2,
     .no_grad = true},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_I64}}, .lo = 0, .hi = 100},
    {.name = "15x17", .n_in = 1, .in = {AS_IN(I16, 15, 17)}, .lo = -100, .hi = 100},
    {.name = "empty", .n_in = 1, .in = {AS_IN(U8, 0, 3)}},
};

const as_op as_op_bitwisenot = {
    .name = "BitwiseNot",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_bits,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: integers have none */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

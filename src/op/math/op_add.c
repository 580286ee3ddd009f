/* op_add.c - A + B: element by element, with broadcasting; integers wrap as in numpy. */
#include "op/rules.h"

static double real(double a, double b) { return a + b; }

static uint64_t whole(uint64_t a, uint64_t b) { return a + b; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    (void)n;
    as_each2(&in[0], &in[1], &out[0], real, whole);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    d_in[0] = as_b_sum_to(b, d_out[0], &n->in[0].shape);
    d_in[1] = as_b_sum_to(b, d_out[0], &n->in[1].shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "a row by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2)},
     .given = (const double[]){1, 2, 3, 4, 10, 20},
     .want = (const double[]){11, 22, 13, 24},
     .n_want = 4},
    /* By hand: 127 + 1 is -128, -128 - 1 is 127. */
    {.name = "i8 wraps",
     .n_in = 2,
     .in = {AS_IN(I8, 2), AS_IN(I8, 2)},
     .no_grad = true,
     .given = (const double[]){127, -128, 1, -1},
     .want = (const double[]){-128, 127},
     .n_want = 2},
    {.name = "i32 wraps",
     .n_in = 2,
     .in = {AS_IN(I32, 2), AS_IN(I32, 2)},
     .no_grad = true,
     .given = (const double[]){2147483647, 5, 1, -7},
     .want = (const double[]){-2147483648.0, -2},
     .n_want = 2},
    {.name = "u8 wraps",
     .n_in = 2,
     .in = {AS_IN(U8, 1), AS_IN(U8, 1)},
     .no_grad = true,
     .given = (const double[]){250, 10},
     .want = (const double[]){4},
     .n_want = 1},
    AS_CASES_ARITHMETIC,
    /* Beyond a strip of the kernels, with a value on either side. */
    {.name = "i64 3x37", .n_in = 2, .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "i32 3x37", .n_in = 2, .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "u16 3x37", .n_in = 2, .in = {AS_IN(U16, 3, 37), AS_IN(U16, 3, 37)}, .lo = 0, .hi = 100, .no_grad = true},
    {.name = "i8 3x37", .n_in = 2, .in = {AS_IN(I8, 3, 37), AS_IN(I8, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "f64 3x37", .n_in = 2, .in = {AS_IN(F64, 3, 37), AS_IN(F64, 3, 37)}, .lo = -100, .hi = 100, .no_grad = true},
    {.name = "i64 3x37 and a column",
     .n_in = 2,
     .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 1)},
     .lo = -100,
     .hi = 100,
     .no_grad = true},
    {.name = "i64 a value and 70", .n_in = 2, .in = {AS_IN(I64, 1), AS_IN(I64, 70)}, .lo = -100, .hi = 100, .no_grad = true},
};

const as_op as_op_add = {
    .name = "Add",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_broadcast,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    /* One rounding: double holds the exact result of two f32, so rounding it once more changes nothing. */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};

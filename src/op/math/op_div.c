/* op_div.c - A / B: element by element, with broadcasting; integers round towards zero. */
#include "op/rules.h"

static double real(double a, double b) { return a / b; }

/* Division by 0 gives 0, as in numpy; C leaves it undefined.  Division by -1 wraps the lowest integer. */
static uint64_t signed_div(uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    return y == 0 ? 0 : y == -1 ? 0 - a : (uint64_t)(x / y);
}

static uint64_t unsigned_div(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each2(&in[0], &in[1], &out[0], real, out[0].dtype == AS_U64 ? unsigned_div : signed_div);
    return ASSAY_OK;
}

/* dA = dy / B, dB = -dA * y */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    int d = as_b2(b, "Div", d_out[0], in[1]);
    d_in[0] = as_b_sum_to(b, d, &n->in[0].shape);
    d_in[1] = as_b_sum_to(b, as_b1(b, "Neg", as_b2(b, "Mul", d, out[0])), &n->in[1].shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "f32",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     .given = (const double[]){1, -2, 3.5, 0, -5, 6, 1, 2, -5},
     .want = (const double[]){1, -1, -0.699999988079071, 0, -2.5, -1.2000000476837158},
     .n_want = 6},
    /* By hand: towards zero. */
    {.name = "i32 cuts",
     .n_in = 2,
     .in = {AS_IN(I32, 5), AS_IN(I32, 5)},
     .given = (const double[]){7, -7, 7, -7, 5, 2, 2, -2, -2, 0},
     .want = (const double[]){3, -3, -3, 3, 0},
     .n_want = 5,
     .no_grad = true},
    {.name = "i8 wraps",
     .n_in = 2,
     .in = {AS_IN(I8, 2), {.dtype = AS_I8}},
     .given = (const double[]){-128, 127, -1},
     .want = (const double[]){-128, -127},
     .n_want = 2,
     .no_grad = true},
    {.name = "u64",
     .n_in = 2,
     .in = {AS_IN(U64, 3), AS_IN(U64, 3)},
     .given = (const double[]){9.223372036854776e+18, 5, 6, 2, 9.223372036854776e+18, 0},
     .want = (const double[]){4.611686018427388e+18, 0, 0},
     .n_want = 3,
     .no_grad = true},
    AS_CASES_TWO(F32, 0.5, 2),
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 17), AS_IN(F16, 17)}, .lo = 1, .hi = 2},
    {.name = "u16", .n_in = 2, .in = {AS_IN(U16, 17), AS_IN(U16, 17)}, .lo = 1, .hi = 100},
    /* Beyond a strip of the kernels, with a value on either side. */
    {.name = "i32 3x37", .n_in = 2, .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i64 3x37", .n_in = 2, .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i8 3x37", .n_in = 2, .in = {AS_IN(I8, 3, 37), AS_IN(I8, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "u16 3x37", .n_in = 2, .in = {AS_IN(U16, 3, 37), AS_IN(U16, 3, 37)}, .lo = 0, .hi = 9, .no_grad = true},
    {.name = "u64 3x37", .n_in = 2, .in = {AS_IN(U64, 3, 37), AS_IN(U64, 3, 37)}, .lo = 0, .hi = 9, .no_grad = true},
    {.name = "f64 3x37", .n_in = 2, .in = {AS_IN(F64, 3, 37), AS_IN(F64, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i32 3x37 and a column", .n_in = 2, .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 1)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i32 a value and 70", .n_in = 2, .in = {AS_IN(I32, 1), AS_IN(I32, 70)}, .lo = -9, .hi = 9, .no_grad = true},
};

const as_op as_op_div = {
    .name = "Div",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_broadcast,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* a fast reciprocal may be off by an f32 ulp */
};

/* op_mod.c - the remainder of A / B: element by element, with broadcasting.  It has the sign of B, as in Python; with
 * fmod = 1 that of A, as in C. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "fmod", .kind = AS_ATTR_INT},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t mode = as_attr_int(n, "fmod", 0);
    if (mode != 0 && mode != 1)
        return as_refuse(env, n, "fmod is %lld and must be 0 or 1", (long long)mode);
    return as_rule_broadcast(env, n, out);
}

/* A remainder of zero has B's sign too.  With an infinite B the answer is A, or B when their signs differ. */
static double real_like_python(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0.0)
        return copysign(0.0, b);
    return !isnan(rest) && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

/* Modulo 0 gives 0, as in numpy; modulo -1 never reaches C's %, which overflows for the lowest integer. */
static uint64_t like_c(uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    return y == 0 || y == -1 ? 0 : (uint64_t)(x % y);
}

static uint64_t like_python(uint64_t a, uint64_t b)
{
    int64_t rest = (int64_t)like_c(a, b), y = (int64_t)b;
    return (uint64_t)(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

static uint64_t of_unsigned(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    bool is_c = as_attr_int(n, "fmod", 0) == 1;
    as_each2(&in[0], &in[1], &out[0], is_c ? fmod : real_like_python,
             out[0].dtype == AS_U64 ? of_unsigned
             : is_c                 ? like_c
                                    : like_python);
    return ASSAY_OK;
}

/* y = A - t * B where t is A / B rounded to zero or down: dA = dy, and dB = -t * dy = (y - A) / B * dy. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    int turns = as_b2(b, "Div", as_b2(b, "Sub", out[0], in[0]), in[1]);
    d_in[0] = as_b_sum_to(b, d_out[0], &n->in[0].shape);
    d_in[1] = as_b_sum_to(b, as_b2(b, "Mul", d_out[0], turns), &n->in[1].shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "i32 like Python",
     .n_in = 2,
     .in = {AS_IN(I32, 6), AS_IN(I32, 6)},
     .given = (const double[]){-4, 7, 5, 4, -7, 8, 2, -3, 8, -2, 3, 5},
     .want = (const double[]){0, -2, 5, 0, 2, 3},
     .n_want = 6,
     .no_grad = true},
    {.name = "i32 like C",
     .n_in = 2,
     .in = {AS_IN(I32, 6), AS_IN(I32, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("fmod", 1)},
     .given = (const double[]){-4, 7, 5, 4, -7, 8, 2, -3, 8, -2, 3, 5},
     .want = (const double[]){0, 1, 5, 0, -1, 3},
     .n_want = 6,
     .no_grad = true},
    {.name = "f64",
     .n_in = 2,
     .in = {AS_IN(F64, 6), AS_IN(F64, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("fmod", 1)},
     .given = (const double[]){-4.3, 7.2, 5, 4.3, -7.2, 8, 2.1, -3.4, 8, -2.1, 3.4, 5},
     .want = (const double[]){-0.09999999999999964, 0.40000000000000036, 5, 0.09999999999999964, -0.40000000000000036, 3},
     .n_want = 6},
    {.name = "f64 like Python",
     .n_in = 2,
     .in = {AS_IN(F64, 6), AS_IN(F64, 6)},
     .given = (const double[]){-4.3, 7.2, 5, 4.3, -7.2, 8, 2.1, -3.4, 8, -2.1, 3.4, 5},
     .want = (const double[]){2.0000000000000004, -2.9999999999999996, 5, -2.0000000000000004, 2.9999999999999996, 3},
     .n_want = 6},
    {.name = "row and column like Python", .n_in = 2, .in = {AS_IN(F32, 9, 1), AS_IN(F32, 1, 7)}, .lo = 0.3, .hi = 3},
    {.name = "u64",
     .n_in = 2,
     .in = {AS_IN(U64, 2), {.dtype = AS_U64}},
     .given = (const double[]){9.223372036854776e+18, 5, 3},
     .want = (const double[]){2, 2},
     .n_want = 2,
     .no_grad = true},
    {.name = "i8",
     .n_in = 2,
     .in = {AS_IN(I8, 3), AS_IN(I8, 3)},
     .given = (const double[]){-128, -128, 7, -1, 0, -128},
     .want = (const double[]){0, 0, -121},
     .n_want = 3,
     .no_grad = true},
#define FMOD .n_attrs = 1, .attrs = {AS_ATTR_I("fmod", 1)}
    {.name = "row and column", .n_in = 2, .in = {AS_IN(F32, 9, 1), AS_IN(F32, 1, 7)}, .lo = 0.3, .hi = 3, FMOD},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 17), AS_IN(F16, 17)}, .lo = 0.3, .hi = 3, FMOD},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN(F32, 1, 3)}, FMOD},
    {.name = "u16 row", .n_in = 2, .in = {AS_IN(U16, 7, 9), AS_IN(U16, 9)}, .lo = 1, .hi = 50},
    /* Beyond a strip of the kernels, with a value on either side. */
    {.name = "i32 3x37", .n_in = 2, .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i64 3x37", .n_in = 2, .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i8 3x37", .n_in = 2, .in = {AS_IN(I8, 3, 37), AS_IN(I8, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "u16 3x37", .n_in = 2, .in = {AS_IN(U16, 3, 37), AS_IN(U16, 3, 37)}, .lo = 0, .hi = 9, .no_grad = true},
    {.name = "u64 3x37", .n_in = 2, .in = {AS_IN(U64, 3, 37), AS_IN(U64, 3, 37)}, .lo = 0, .hi = 9, .no_grad = true},
    {.name = "i32 3x37 and a column", .n_in = 2, .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 1)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i32 a value and 70", .n_in = 2, .in = {AS_IN(I32, 1), AS_IN(I32, 70)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i32 3x37 like C", .n_in = 2, .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 37)}, .lo = -9, .hi = 9, FMOD, .no_grad = true},
};

const as_op as_op_mod = {
    .name = "Mod",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_special,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* fmod is exact */
};

/* number_body.h - the body of k_number_any_<machine>.c: arithmetic of integers and of doubles, with broadcasting: Add, Sub, Mul, Div,
 * Mod, Max, Min, Neg, Abs, Sign, Clip, PRelu, the bitwise ones and BitShift; functions of doubles, and the hyperbolic ones of floats, by the
 * library.
 *
 * Sums, products and bits need the width alone: they wrap.  Division by 0 gives 0, and by -1 it wraps, as in the reference code. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/rows.h"

/* --- What the width decides ------------------------------------------------------------------------ */

#define WIDTH(bits, wide)                                                                                         \
    AS_ROW2(add_##bits, uint##bits##_t, uint##bits##_t, p + q)                                                    \
    AS_ROW2(sub_##bits, uint##bits##_t, uint##bits##_t, p - q)                                                    \
    AS_ROW2(mul_##bits, uint##bits##_t, uint##bits##_t, (wide)p *q)                                               \
    AS_ROW2(and_##bits, uint##bits##_t, uint##bits##_t, p &q)                                                     \
    AS_ROW2(or_##bits, uint##bits##_t, uint##bits##_t, p | q)                                                     \
    AS_ROW2(xor_##bits, uint##bits##_t, uint##bits##_t, p ^ q)                                                    \
    AS_ROW2(left_##bits, uint##bits##_t, uint##bits##_t, q < bits ? (wide)p << (q & (bits - 1)) : 0)              \
    AS_ROW2(right_##bits, uint##bits##_t, uint##bits##_t, q < bits ? (uint##bits##_t)(p >> (q & (bits - 1))) : 0) \
    AS_ROW2(fall_##bits, int##bits##_t, int##bits##_t, p >> ((uint##bits##_t)q < bits ? q : bits - 1))            \
    AS_ROW1(not_##bits, uint##bits##_t, uint##bits##_t, ~x)                                                       \
    AS_ROW1(neg_##bits, uint##bits##_t, uint##bits##_t, 0 - (wide)x)                                              \
    AS_ROW1(abs_##bits, uint##bits##_t, int##bits##_t, x < 0 ? 0 - (wide)x : (wide)x)                             \
    AS_ROW1(same_##bits, uint##bits##_t, uint##bits##_t, x)
WIDTH(8, uint32_t)
WIDTH(16, uint32_t)
WIDTH(32, uint32_t)
WIDTH(64, uint64_t)

/* --- What the sign decides --------------------------------------------------------------------------- */

#define ORDER(name, type)                          \
    AS_ROW2(max_##name, type, type, q > p ? q : p) \
    AS_ROW2(min_##name, type, type, q < p ? q : p)
#define SIGNED(name, type)   ORDER(name, type) AS_ROW1(sign_##name, type, type, (x > 0) - (x < 0))
#define UNSIGNED(name, type) ORDER(name, type) AS_ROW1(sign_##name, type, type, x > 0)
SIGNED(i8, int8_t)
UNSIGNED(u8, uint8_t)
SIGNED(i16, int16_t)
UNSIGNED(u16, uint16_t)
SIGNED(i32, int32_t)
UNSIGNED(u32, uint32_t)
SIGNED(i64, int64_t)
UNSIGNED(u64, uint64_t)

AS_ROW2(prelu_i32, int32_t, int32_t, p < 0 ? (uint32_t)p * (uint32_t)q : (uint32_t)p)
AS_ROW2(prelu_i64, int64_t, int64_t, p < 0 ? (uint64_t)p * (uint64_t)q : (uint64_t)p)

/* A quotient of integers of 32 bits is exact in double: one that is not whole is at least 2^-32 away from the next whole number.
 * Vectors divide doubles, and no integers. */
static inline int32_t div32(int32_t p, int32_t q)
{
    int32_t by = q == 0 || q == -1 ? 1 : q, whole = (int32_t)((double)p / (double)by);
    return q == 0 ? 0 : q == -1 ? (int32_t)(0 - (uint32_t)p) : whole;
}
static inline int32_t mod32(int32_t p, int32_t q)
{
    int32_t by = q == 0 || q == -1 ? 1 : q, whole = (int32_t)((double)p / (double)by);
    return (int32_t)((uint32_t)p - (uint32_t)whole * (uint32_t)by);
}
static inline int32_t floor32(int32_t p, int32_t q)
{
    int32_t rest = mod32(p, q);
    return rest != 0 && (rest ^ q) < 0 ? rest + q : rest;
}
/* A division of 64 bits takes twice as long as one of 32, and most numbers are small. */
static inline int64_t div64(int64_t p, int64_t q)
{
    if (((uint64_t)p | (uint64_t)q) >> 32 == 0)
        return q == 0 ? 0 : (int64_t)((uint32_t)p / (uint32_t)q);
    return q == 0 ? 0 : q == -1 ? (int64_t)(0 - (uint64_t)p) : p / q;
}
static inline int64_t mod64(int64_t p, int64_t q)
{
    if (((uint64_t)p | (uint64_t)q) >> 32 == 0)
        return q == 0 ? 0 : (int64_t)((uint32_t)p % (uint32_t)q);
    return q == 0 || q == -1 ? 0 : p % q;
}
static inline int64_t floor64(int64_t p, int64_t q)
{
    int64_t rest = mod64(p, q);
    return rest != 0 && (rest ^ q) < 0 ? rest + q : rest;
}
#define DIVISION(name, type, bits)                    \
    AS_ROW2(div_##name, type, type, div##bits(p, q))  \
    AS_ROW2(modc_##name, type, type, mod##bits(p, q)) \
    AS_ROW2(modpython_##name, type, type, floor##bits(p, q))
#define DIVISION_UNSIGNED(name, type)                                          \
    AS_ROW2(div_##name, type, type, q == 0 ? 0 : (type)(p / (q == 0 ? 1 : q))) \
    AS_ROW2(mod_##name, type, type, q == 0 ? 0 : (type)(p % (q == 0 ? 1 : q)))
DIVISION(i8, int8_t, 32)
DIVISION(i16, int16_t, 32)
DIVISION(i32, int32_t, 32)
DIVISION(i64, int64_t, 64)
DIVISION_UNSIGNED(u8, uint8_t)
DIVISION_UNSIGNED(u16, uint16_t)
DIVISION_UNSIGNED(u32, uint32_t)
DIVISION_UNSIGNED(u64, uint64_t)

/* --- Doubles ----------------------------------------------------------------------------------------- */

AS_ROW2(add_f64, double, double, p + q)
AS_ROW2(sub_f64, double, double, p - q)
AS_ROW2(mul_f64, double, double, p *q)
AS_ROW2(div_f64, double, double, p / q)
AS_ROW2(max_f64, double, double, ((q > p) | (q != q)) ? q : p) /* p may be a NaN too, and stays */
AS_ROW2(min_f64, double, double, ((q < p) | (q != q)) ? q : p)
AS_ROW2(prelu_f64, double, double, p < 0.0 ? p * q : p)
AS_ROW2(prelu_f32, float, float, p < 0.0f ? p * q : p)
AS_ROW1(neg_f64, double, double, -x)
AS_ROW1(abs_f64, double, double, fabs(x))
AS_ROW1(sign_f64, double, double, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x)
AS_ROW1(sqrt_f64, double, double, sqrt(x))
AS_ROW1(exp_f64, double, double, exp(x))
AS_ROW1(log_f64, double, double, log(x))
AS_ROW1(sin_f64, double, double, sin(x))
AS_ROW1(cos_f64, double, double, cos(x))
AS_ROW1(tan_f64, double, double, tan(x))
AS_ROW1(tanh_f64, double, double, tanh(x))
AS_ROW1(erf_f64, double, double, erf(x))
AS_ROW1(floor_f64, double, double, floor(x))
AS_ROW1(ceil_f64, double, double, ceil(x))
AS_ROW1(asin_f64, double, double, asin(x))
AS_ROW1(acos_f64, double, double, acos(x))
AS_ROW1(atan_f64, double, double, atan(x))
AS_ROW1(sinh_f64, double, double, sinh(x))
AS_ROW1(cosh_f64, double, double, cosh(x))
AS_ROW1(asinh_f64, double, double, asinh(x))
AS_ROW1(acosh_f64, double, double, acosh(x))
AS_ROW1(atanh_f64, double, double, atanh(x))
AS_ROW1(sinh_f32, float, float, sinhf(x))
AS_ROW1(cosh_f32, float, float, coshf(x))
AS_ROW1(asinh_f32, float, float, asinhf(x))
AS_ROW1(acosh_f32, float, float, acoshf(x))
AS_ROW1(atanh_f32, float, float, atanhf(x))
AS_ROW1(reciprocal_f64, double, double, 1.0 / x)

/* --- Clip: either bound may be absent, and the upper one wins --------------------------------------------- */

#define CLIP(name, type, low, high)                                                                         \
    static void name##_clip_run(type *restrict y, const type *restrict a, type least, type most, int64_t n) \
    {                                                                                                       \
        int64_t i = 0;                                                                                      \
        for (; i + AS_ROW_STRIP <= n; i += AS_ROW_STRIP)                                                    \
            for (int l = 0; l < AS_ROW_STRIP; l++) {                                                        \
                type x = a[i + l] < least ? least : a[i + l];                                               \
                y[i + l] = x > most ? most : x;                                                             \
            }                                                                                               \
        for (; i < n; i++) {                                                                                \
            type x = a[i] < least ? least : a[i];                                                           \
            y[i] = x > most ? most : x;                                                                     \
        }                                                                                                   \
    }                                                                                                       \
    static void clip_##name(void *out, const void *const *in, const int64_t *step, int64_t n)               \
    {                                                                                                       \
        type least = in[1] ? *(const type *)in[1] : (low), most = in[2] ? *(const type *)in[2] : (high);    \
        name##_clip_run(out, in[0], least, most, step[0] || n < 1 ? n : 1);                                 \
    }
CLIP(i8, int8_t, INT8_MIN, INT8_MAX)
CLIP(u8, uint8_t, 0, UINT8_MAX)
CLIP(i16, int16_t, INT16_MIN, INT16_MAX)
CLIP(u16, uint16_t, 0, UINT16_MAX)
CLIP(i32, int32_t, INT32_MIN, INT32_MAX)
CLIP(u32, uint32_t, 0, UINT32_MAX)
CLIP(i64, int64_t, INT64_MIN, INT64_MAX)
CLIP(u64, uint64_t, 0, UINT64_MAX)
CLIP(f64, double, -HUGE_VAL, HUGE_VAL)

/* --- Which row a node takes ---------------------------------------------------------------------------- */

enum { I8, U8, I16, U16, I32, U32, I64, U64, F64, F32, N_TYPES };

typedef struct form {
    const char *op;
    as_flat_row row[N_TYPES];
} form;

#define BY_WIDTH(op_, row)                                                                    \
    {                                                                                         \
        op_, { row##_8, row##_8, row##_16, row##_16, row##_32, row##_32, row##_64, row##_64 } \
    }
#define BY_WIDTH_AND_F64(op_, row)                                                                       \
    {                                                                                                    \
        op_, { row##_8, row##_8, row##_16, row##_16, row##_32, row##_32, row##_64, row##_64, row##_f64 } \
    }
#define BY_SIGN(op_, row)                                                                                        \
    {                                                                                                            \
        op_, { row##_i8, row##_u8, row##_i16, row##_u16, row##_i32, row##_u32, row##_i64, row##_u64, row##_f64 } \
    }

static const form forms[] = {
    BY_WIDTH_AND_F64("Add", add),
    BY_WIDTH_AND_F64("Sub", sub),
    BY_WIDTH_AND_F64("Mul", mul),
    BY_SIGN("Div", div),
    BY_SIGN("Max", max),
    BY_SIGN("Min", min),
    BY_SIGN("Sign", sign),
    BY_SIGN("Clip", clip),
    {"Neg", {neg_8, NULL, neg_16, NULL, neg_32, NULL, neg_64, NULL, neg_f64}},
    {"Abs", {abs_8, same_8, abs_16, same_16, abs_32, same_32, abs_64, same_64, abs_f64}},
    {"Sqrt", {[F64] = sqrt_f64}},
    {"Reciprocal", {[F64] = reciprocal_f64}},
    {"Exp", {[F64] = exp_f64}},
    {"Log", {[F64] = log_f64}},
    {"Sin", {[F64] = sin_f64}},
    {"Cos", {[F64] = cos_f64}},
    {"Tan", {[F64] = tan_f64}},
    {"Tanh", {[F64] = tanh_f64}},
    {"Erf", {[F64] = erf_f64}},
    {"Floor", {[F64] = floor_f64}},
    {"Ceil", {[F64] = ceil_f64}},
    {"Asin", {[F64] = asin_f64}},
    {"Acos", {[F64] = acos_f64}},
    {"Atan", {[F64] = atan_f64}},
    {"Sinh", {[F64] = sinh_f64, [F32] = sinh_f32}},
    {"Cosh", {[F64] = cosh_f64, [F32] = cosh_f32}},
    {"Asinh", {[F64] = asinh_f64, [F32] = asinh_f32}},
    {"Acosh", {[F64] = acosh_f64, [F32] = acosh_f32}},
    {"Atanh", {[F64] = atanh_f64, [F32] = atanh_f32}},
    {"PRelu", {[I32] = prelu_i32, [U32] = same_32, [I64] = prelu_i64, [U64] = same_64, [F64] = prelu_f64, [F32] = prelu_f32}},
    BY_WIDTH("BitwiseAnd", and),
    BY_WIDTH("BitwiseOr", or),
    BY_WIDTH("BitwiseXor", xor),
    BY_WIDTH("BitwiseNot", not ),
};
static const form mod_like_c = {"Mod", {modc_i8, mod_u8, modc_i16, mod_u16, modc_i32, mod_u32, modc_i64, mod_u64}};
static const form mod_like_python = {
    "Mod", {modpython_i8, mod_u8, modpython_i16, mod_u16, modpython_i32, mod_u32, modpython_i64, mod_u64}};
static const form shift_left = BY_WIDTH("BitShift", left);
static const form shift_right = {"BitShift", {fall_8, right_8, fall_16, right_16, fall_32, right_32, fall_64, right_64}};

static int type_of(as_dtype d)
{
    static const int types[AS_N_DTYPES] = {
        [AS_I8] = I8 + 1,   [AS_U8] = U8 + 1,   [AS_I16] = I16 + 1, [AS_U16] = U16 + 1, [AS_I32] = I32 + 1,
        [AS_U32] = U32 + 1, [AS_I64] = I64 + 1, [AS_U64] = U64 + 1, [AS_F64] = F64 + 1, [AS_F32] = F32 + 1};
    return types[d] - 1;
}

static as_flat_row row_of(const as_node_ctx *n)
{
    const char *op = n->op->name;
    int         type = type_of(n->in[0].dtype);
    if (type < 0)
        return NULL;
    if (!strcmp(op, "Mod"))
        return (as_attr_int(n, "fmod", 0) ? &mod_like_c : &mod_like_python)->row[type];
    if (!strcmp(op, "BitShift"))
        return (as_attr_text(n, "direction", "")[0] == 'L' ? &shift_left : &shift_right)->row[type];
    for (size_t i = 0; i < AS_COUNT(forms); i++)
        if (!strcmp(forms[i].op, op))
            return forms[i].row[type];
    return NULL;
}

static bool is_clip(const as_node_ctx *n) { return !strcmp(n->op->name, "Clip"); }
static bool is_extreme(const as_node_ctx *n) { return !strcmp(n->op->name, "Max") || !strcmp(n->op->name, "Min"); }

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!row_of(n)) {
        snprintf(why, why_size, "it has no %s of %s", n->op->name, as_dtype_name(n->in[0].dtype));
        return false;
    }
    if ((n->n_in > 2 && !is_clip(n)) || (is_extreme(n) && n->n_in != 2)) {
        snprintf(why, why_size, "it takes two inputs and not %d", n->n_in);
        return false;
    }
    return as_flat_rows_accept(n, is_clip(n) ? 1 : n->n_in, why, why_size);
}

/* The bounds are single values, and some are absent. */
static void clip(const as_kernel_args *args, int part, int n_parts)
{
    as_node_ctx    n = *args->ctx;
    as_kernel_args all = *args;
    as_tensor_info info[3] = {n.in[0]};
    as_view        in[3] = {args->in[0]};
    as_flat        flat;
    for (int i = 1; i < 3; i++)
        if (as_in_has(args->ctx, i)) {
            info[i] = n.in[i];
            in[i] = args->in[i];
        }
    n.in = info;
    n.n_in = 3;
    all.ctx = &n;
    all.in = in;
    as_flat_of(&n, 3, &flat);
    as_flat_rows(&flat, 3, &all, part, n_parts, row_of(args->ctx));
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_flat flat;
    if (is_clip(args->ctx)) {
        clip(args, part, n_parts);
        return;
    }
    as_flat_of(args->ctx, args->ctx->n_in, &flat);
    as_flat_rows(&flat, args->ctx->n_in, args, part, n_parts, row_of(args->ctx));
}

static const char *const also[] = {"Sub",   "Mul",        "Div",        "Mod",       "Max",        "Min",        "Neg",      "Abs",
                                   "Sign",  "PRelu",      "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift", "Sqrt",
                                   "Clip",  "Reciprocal", "Exp",        "Log",       "Sin",        "Cos",        "Tan",      "Tanh",
                                   "Erf",   "Floor",      "Ceil",       "Asin",      "Acos",       "Atan",       "Sinh",     "Cosh",
                                   "Asinh", "Acosh",      "Atanh",      NULL};

/* cast_body.h - the body of k_cast_any_<machine>.c, after its simd_*.h: Cast and CastLike between all numbers of 8 bits and more, and
 * bool.
 *
 * Between integers the low bits stay.  To integers floats round towards zero and saturate; NaN gives 0.  The 16-bit floats are
 * converted by way of f32, in tiles: from wider numbers it is rounded to odd first, so that the second rounding gives what one
 * rounding would. */
#include <math.h>
#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "tensor/tensor.h"

enum { STRIP = 32, TILE = 512 };

typedef void (*convert)(const void *from, void *to, int64_t n);

/* Strips with a length that the compiler knows, over restricted pointers; it makes vectors of them where the machine has such a
 * conversion. */
#define CONVERT(name, to_type, from_type, expression)                                       \
    static void name##_run(const from_type *restrict from, to_type *restrict to, int64_t n) \
    {                                                                                       \
        int64_t i = 0;                                                                      \
        for (; i + STRIP <= n; i += STRIP)                                                  \
            for (int l = 0; l < STRIP; l++) {                                               \
                from_type x = from[i + l];                                                  \
                to[i + l] = (to_type)(expression);                                          \
            }                                                                               \
        for (; i < n; i++) {                                                                \
            from_type x = from[i];                                                          \
            to[i] = (to_type)(expression);                                                  \
        }                                                                                   \
    }                                                                                       \
    static void name(const void *from, void *to, int64_t n) { name##_run(from, to, n); }

/* --- Floats to integers: no conversion ever sees a number that does not fit ---------------------------- */

/* lo and hi are floats that the integer holds; from `over` on it is the highest. */
#define CUT(real, whole, lo, hi, over, highest) \
    V_INLINE whole whole##_of_##real(real x)    \
    {                                           \
        real  c = x > (lo) ? x : (lo);          \
        whole r = (whole)(c < (hi) ? c : (hi)); \
        r = x >= (over) ? (highest) : r;        \
        return x == x ? r : 0;                  \
    }
CUT(float, int32_t, -0x1p31f, 0x1.fffffep30f, 0x1p31f, INT32_MAX)
CUT(double, int32_t, -0x1p31, 0x1.fffffffcp30, 0x1p31, INT32_MAX)
CUT(float, int64_t, -0x1p63f, 0x1.fffffep62f, 0x1p63f, INT64_MAX)
CUT(double, int64_t, -0x1p63, 0x1.fffffffffffffp62, 0x1p63, INT64_MAX)
CUT(float, uint64_t, 0.0f, 0x1.fffffep63f, 0x1p64f, UINT64_MAX)
CUT(double, uint64_t, 0.0, 0x1.fffffffffffffp63, 0x1p64, UINT64_MAX)
/* Into fewer than 32 bits: by way of int32_t, whose conversion is a vector's. */
#define NARROW(real, low, high) (int32_t_of_##real(x < (low) ? (low) : x > (high) ? (high) : x))
V_INLINE uint32_t uint32_t_of_float(float x) { return (uint32_t)int64_t_of_float(x < 0.0f ? 0.0f : x > 0x1p32f ? 0x1p32f : x); }
V_INLINE uint32_t uint32_cut_float(float x) { return x >= 0x1p32f ? UINT32_MAX : uint32_t_of_float(x); }
V_INLINE uint32_t uint32_cut_double(double x)
{
    return (uint32_t)int64_t_of_double(x < 0.0 ? 0.0 : x > 4294967295.0 ? 4294967295.0 : x);
}

#define FROM_REAL(name, real, f)                                          \
    CONVERT(i8_##name, int8_t, real, NARROW(real, -128##f, 127##f))       \
    CONVERT(u8_##name, uint8_t, real, NARROW(real, 0##f, 255##f))         \
    CONVERT(i16_##name, int16_t, real, NARROW(real, -32768##f, 32767##f)) \
    CONVERT(u16_##name, uint16_t, real, NARROW(real, 0##f, 65535##f))     \
    CONVERT(i32_##name, int32_t, real, int32_t_of_##real(x))              \
    CONVERT(u32_##name, uint32_t, real, uint32_cut_##real(x))             \
    CONVERT(i64_##name, int64_t, real, int64_t_of_##real(x))              \
    CONVERT(u64_##name, uint64_t, real, uint64_t_of_##real(x))            \
    CONVERT(bool_##name, uint8_t, real, x != 0##f)
FROM_REAL(f32, float, .0f)
FROM_REAL(f64, double, .0)
CONVERT(f64_f32, double, float, x)
CONVERT(f32_f64, float, double, x)

/* --- Integers --------------------------------------------------------------------------------------------- */

#define FROM_WHOLE(name, type)             \
    CONVERT(w8_##name, uint8_t, type, x)   \
    CONVERT(w16_##name, uint16_t, type, x) \
    CONVERT(w32_##name, uint32_t, type, x) \
    CONVERT(w64_##name, uint64_t, type, x) \
    CONVERT(f32_##name, float, type, x)    \
    CONVERT(f64_##name, double, type, x)   \
    CONVERT(bool_##name, uint8_t, type, x != 0)
FROM_WHOLE(i8, int8_t)
FROM_WHOLE(u8, uint8_t)
FROM_WHOLE(i16, int16_t)
FROM_WHOLE(u16, uint16_t)
FROM_WHOLE(i32, int32_t)
FROM_WHOLE(u32, uint32_t)
FROM_WHOLE(i64, int64_t)
FROM_WHOLE(u64, uint64_t)
CONVERT(w8_bool, uint8_t, uint8_t, x != 0)
CONVERT(w16_bool, uint16_t, uint8_t, x != 0)
CONVERT(w32_bool, uint32_t, uint8_t, x != 0)
CONVERT(w64_bool, uint64_t, uint8_t, x != 0)
CONVERT(f32_bool, float, uint8_t, x != 0)
CONVERT(f64_bool, double, uint8_t, x != 0)
CONVERT(w16_w16, uint16_t, uint16_t, x)
CONVERT(w32_w32, uint32_t, uint32_t, x)
CONVERT(w64_w64, uint64_t, uint64_t, x)

/* --- 16-bit floats ------------------------------------------------------------------------------------------ */

static void f16_f32(const void *from, void *to, int64_t n)
{
    const float *x = from;
    uint16_t    *y = to;
    int64_t      i = 0;
    for (; i + VW <= n; i += VW)
        v_store_f16(y + i, v_load(x + i));
    for (; i < n; i++)
        y[i] = as_f16_from_f32(x[i]);
}

static void f32_f16(const void *from, void *to, int64_t n)
{
    const uint16_t *x = from;
    float          *y = to;
    int64_t         i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, v_load_f16(x + i));
    for (; i < n; i++)
        y[i] = as_f16_to_f32(x[i]);
}

static void f32_bf16(const void *from, void *to, int64_t n)
{
    const uint16_t *x = from;
    float          *y = to;
    int64_t         i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, v_load_bf16(x + i));
    for (; i < n; i++)
        y[i] = as_bf16_to_f32(x[i]);
}

CONVERT(bf16_f32, uint16_t, float, as_bf16_from_f32(x))

/* The float next to x towards zero, with the last bit set where x is none itself. */
V_INLINE float odd_of(double x)
{
    float f = (float)x;
    if ((double)f == x || x != x || isinf(x))
        return f;
    union {
        float    f;
        uint32_t bits;
    } u = {.f = f};
    if (fabs((double)f) > fabs(x)) /* also from infinity down to the largest number */
        u.bits--;
    u.bits |= 1;
    return u.f;
}
/* The same for 64-bit integers, which a double need not hold: the last of 53 bits says whether any below were set. */
V_INLINE float odd_of_u64(uint64_t x) { return odd_of(x >> 53 ? (double)((x >> 11) | ((x & 2047) != 0)) * 2048.0 : (double)x); }
V_INLINE float odd_of_i64(int64_t x) { return x < 0 ? -odd_of_u64(0 - (uint64_t)x) : odd_of_u64((uint64_t)x); }
CONVERT(odd_f64, float, double, odd_of(x))
CONVERT(odd_i32, float, int32_t, odd_of((double)x))
CONVERT(odd_u32, float, uint32_t, odd_of((double)x))
CONVERT(odd_i64, float, int64_t, odd_of_i64(x))
CONVERT(odd_u64, float, uint64_t, odd_of_u64(x))

/* --- Which conversion a node takes ---------------------------------------------------------------------------- */

enum { I8, U8, I16, U16, I32, U32, I64, U64, BOOL, F32, F64, N_WIDE };

#define TO_ALL(name, f32, f64, bool_)                                                                                 \
    {                                                                                                                 \
        w8_##name, w8_##name, w16_##name, w16_##name, w32_##name, w32_##name, w64_##name, w64_##name, bool_, f32, f64 \
    }
static const convert known[N_WIDE][N_WIDE] = {
    [I8] = TO_ALL(i8, f32_i8, f64_i8, bool_i8),
    [U8] = TO_ALL(u8, f32_u8, f64_u8, bool_u8),
    [I16] = TO_ALL(i16, f32_i16, f64_i16, bool_i16),
    [U16] = TO_ALL(u16, f32_u16, f64_u16, bool_u16),
    [I32] = TO_ALL(i32, f32_i32, f64_i32, bool_i32),
    [U32] = TO_ALL(u32, f32_u32, f64_u32, bool_u32),
    [I64] = TO_ALL(i64, f32_i64, f64_i64, bool_i64),
    [U64] = TO_ALL(u64, f32_u64, f64_u64, bool_u64),
    [BOOL] = TO_ALL(bool, f32_bool, f64_bool, w8_bool),
    [F32] = {i8_f32, u8_f32, i16_f32, u16_f32, i32_f32, u32_f32, i64_f32, u64_f32, bool_f32, w32_w32, f64_f32},
    [F64] = {i8_f64, u8_f64, i16_f64, u16_f64, i32_f64, u32_f64, i64_f64, u64_f64, bool_f64, f32_f64, w64_w64},
};

static int wide_of(as_dtype d)
{
    static const int wide[AS_N_DTYPES] = {
        [AS_I8] = I8 + 1,   [AS_U8] = U8 + 1,   [AS_I16] = I16 + 1, [AS_U16] = U16 + 1, [AS_I32] = I32 + 1,  [AS_U32] = U32 + 1,
        [AS_I64] = I64 + 1, [AS_U64] = U64 + 1, [AS_F32] = F32 + 1, [AS_F64] = F64 + 1, [AS_BOOL] = BOOL + 1};
    return wide[d] - 1;
}

static bool is_short(as_dtype d) { return d == AS_F16 || d == AS_BF16; }

/* Into f32, on the way to a 16-bit float. */
static convert half_way(as_dtype from)
{
    switch (from) {
    case AS_F16: return f32_f16;
    case AS_BF16: return f32_bf16;
    case AS_F64: return odd_f64;
    case AS_I32: return odd_i32;
    case AS_U32: return odd_u32;
    case AS_I64: return odd_i64;
    case AS_U64: return odd_u64;
    default: return known[wide_of(from)][F32];
    }
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_dtype from = n->in[0].dtype, to = n->out[0].dtype;
    if (n->in[0].layout != n->out[0].layout)
        snprintf(why, why_size, "input 0 has another layout than output 0");
    else if ((wide_of(from) < 0 && !is_short(from)) || (wide_of(to) < 0 && !is_short(to)))
        snprintf(why, why_size, "it does not convert %s to %s", as_dtype_name(from), as_dtype_name(to));
    else
        return true;
    return false;
}

static void through_tiles(as_dtype from, as_dtype to, const char *x, char *y, int64_t n)
{
    float   tile[TILE];
    convert in = half_way(from), out = to == AS_F16 ? f16_f32 : to == AS_BF16 ? bf16_f32 : known[F32][wide_of(to)];
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t count = n - i < TILE ? n - i : TILE;
        in(x + i * (int64_t)as_dtype_bytes(from), tile, count);
        out(tile, y + i * (int64_t)as_dtype_bytes(to), count);
    }
}

/* In units of whole vectors, so that each element is computed the same way however the work is split. */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_dtype from = args->ctx->in[0].dtype, to = args->ctx->out[0].dtype;
    int64_t  begin, end;
    as_share(as_shape_count(&args->ctx->out[0].shape), 64, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    const char *x = (const char *)args->in[0].data + begin * (int64_t)as_dtype_bytes(from);
    char       *y = (char *)args->out[0].data + begin * (int64_t)as_dtype_bytes(to);
    if (from == to)
        (as_dtype_bytes(to) == 2 ? w16_w16 : known[wide_of(from)][wide_of(to)])(x, y, end - begin);
    else if (from == AS_F32 && is_short(to))
        (to == AS_F16 ? f16_f32 : bf16_f32)(x, y, end - begin);
    else if (to == AS_F32 && is_short(from))
        (from == AS_F16 ? f32_f16 : f32_bf16)(x, y, end - begin);
    else if (is_short(from) || is_short(to))
        through_tiles(from, to, x, y, end - begin);
    else
        known[wide_of(from)][wide_of(to)](x, y, end - begin);
}

static const char *const also[] = {"CastLike", NULL};

/* cast_body.h - the body of k_cast_f32_<machine>.c, after its simd_*.h: Cast and CastLike between f32 and f16, bf16, i8, i32, i64
 * and bool.  To integers it rounds towards zero and saturates; NaN gives 0. */
#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "tensor/tensor.h"

enum { STRIP = 8 };

static bool is_known(as_dtype d) { return d == AS_F16 || d == AS_BF16 || d == AS_I8 || d == AS_I32 || d == AS_I64 || d == AS_BOOL; }

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_dtype from = n->in[0].dtype, to = n->out[0].dtype;
    if (n->in[0].layout != n->out[0].layout)
        snprintf(why, why_size, "input 0 has another layout than output 0");
    else if ((from != AS_F32 || !is_known(to)) && (to != AS_F32 || !is_known(from)))
        snprintf(why, why_size, "it does not convert %s to %s", as_dtype_name(from), as_dtype_name(to));
    else
        return true;
    return false;
}

V_INLINE int8_t  i8_of(float x) { return x >= 127.0f ? INT8_MAX : x > -128.0f ? (int8_t)x : x <= -128.0f ? INT8_MIN : 0; }
V_INLINE int32_t i32_of(float x) { return x >= 0x1p31f ? INT32_MAX : x > -0x1p31f ? (int32_t)x : x <= -0x1p31f ? INT32_MIN : 0; }
V_INLINE int64_t i64_of(float x) { return x >= 0x1p63f ? INT64_MAX : x > -0x1p63f ? (int64_t)x : x <= -0x1p63f ? INT64_MIN : 0; }

/* Strips with a length that the compiler knows; it vectorises them where the machine has such a conversion. */
#define EACH(to_type, from_type, expression)  \
    {                                         \
        to_type *restrict y = to;             \
        const from_type *x = from;            \
        int64_t          i = 0;               \
        for (; i + STRIP <= n; i += STRIP)    \
            for (int l = 0; l < STRIP; l++) { \
                from_type v = x[i + l];       \
                y[i + l] = expression;        \
            }                                 \
        for (; i < n; i++) {                  \
            from_type v = x[i];               \
            y[i] = expression;                \
        }                                     \
    }

static void f16_of(const float *x, uint16_t *y, int64_t n)
{
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store_f16(y + i, v_load(x + i));
    for (; i < n; i++)
        y[i] = as_f16_from_f32(x[i]);
}

static void from_f16(const uint16_t *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, v_load_f16(x + i));
    for (; i < n; i++)
        y[i] = as_f16_to_f32(x[i]);
}

static void from_bf16(const uint16_t *x, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, v_load_bf16(x + i));
    for (; i < n; i++)
        y[i] = as_bf16_to_f32(x[i]);
}

static void narrow(as_dtype dtype, const void *from, void *to, int64_t n)
{
    switch (dtype) {
    case AS_F16: f16_of(from, to, n); return;
    case AS_BF16: EACH(uint16_t, float, as_bf16_from_f32(v)) return;
    case AS_I8: EACH(int8_t, float, i8_of(v)) return;
    case AS_I32: EACH(int32_t, float, i32_of(v)) return;
    case AS_I64: EACH(int64_t, float, i64_of(v)) return;
    default: EACH(uint8_t, float, v != 0.0f) return;
    }
}

static void widen(as_dtype dtype, const void *from, void *to, int64_t n)
{
    switch (dtype) {
    case AS_F16: from_f16(from, to, n); return;
    case AS_BF16: from_bf16(from, to, n); return;
    case AS_I8: EACH(float, int8_t, (float)v) return;
    case AS_I32: EACH(float, int32_t, (float)v) return;
    case AS_I64: EACH(float, int64_t, (float)v) return;
    default: EACH(float, uint8_t, (float)(v != 0)) return;
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
    if (from == AS_F32)
        narrow(to, x, y, end - begin);
    else
        widen(from, x, y, end - begin);
}

static const char *const also[] = {"CastLike", NULL};

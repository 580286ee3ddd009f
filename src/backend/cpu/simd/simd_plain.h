/* simd_plain.h - vectors of four floats with the compiler's vector types, for machines without a header of their own; see
 * simd_avx2.h for what the names mean.  On x86-64 they become SSE2. */
#ifndef AS_BACKEND_CPU_SIMD_H
#define AS_BACKEND_CPU_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "backend/cpu/simd/unroll.h"
#include "tensor/tensor.h"

#define AS_SIMD_NAME      "scalar"
#define AS_SIMD_ISA       AS_ISA_SCALAR
#define AS_SIMD_REGISTERS 16

enum { VW = 4 };
typedef float   vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

#define V_INLINE static inline __attribute__((always_inline, unused))

V_INLINE vf v_set(float x) { return (vf){x, x, x, x}; }
V_INLINE vf v_zero(void) { return v_set(0.0f); }
V_INLINE vf v_load(const float *p)
{
    vf x;
    memcpy(&x, p, sizeof x);
    return x;
}
V_INLINE void v_store(float *p, vf x) { memcpy(p, &x, sizeof x); }
V_INLINE vf   v_one(const float *p) { return v_set(*p); }
V_INLINE vf   v_load_n(const float *p, int n)
{
    vf x = v_zero();
    for (int i = 0; i < VW; i++)
        if (i < n)
            x[i] = p[i];
    return x;
}
V_INLINE void v_store_n(float *p, int n, vf x)
{
    for (int i = 0; i < VW; i++)
        if (i < n)
            p[i] = x[i];
}

V_INLINE vf v_bits(vi a)
{
    vf x;
    memcpy(&x, &a, sizeof x);
    return x;
}
V_INLINE vi vi_bits(vf a)
{
    vi x;
    memcpy(&x, &a, sizeof x);
    return x;
}

V_INLINE vf v_add(vf a, vf b) { return a + b; }
V_INLINE vf v_sub(vf a, vf b) { return a - b; }
V_INLINE vf v_mul(vf a, vf b) { return a * b; }
V_INLINE vf v_div(vf a, vf b) { return a / b; }
V_INLINE vf v_inverse(vf a) { return v_set(1.0f) / a; }
V_INLINE vf v_fma(vf a, vf b, vf c) { return a * b + c; }
V_INLINE vf v_fnma(vf a, vf b, vf c) { return c - a * b; }
V_INLINE vf v_sqrt(vf a) { return (vf){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])}; }

V_INLINE vf v_and(vf a, vf b) { return v_bits(vi_bits(a) & vi_bits(b)); }
V_INLINE vf v_or(vf a, vf b) { return v_bits(vi_bits(a) | vi_bits(b)); }
V_INLINE vf v_xor(vf a, vf b) { return v_bits(vi_bits(a) ^ vi_bits(b)); }
V_INLINE vf v_lt(vf a, vf b) { return v_bits((vi)(a < b)); }
V_INLINE vf v_gt(vf a, vf b) { return v_bits((vi)(a > b)); }
V_INLINE vf v_eq(vf a, vf b) { return v_bits((vi)(a == b)); }
V_INLINE vf v_is_nan(vf a) { return v_bits((vi)(a != a)); }
V_INLINE vf v_pick(vf mask, vf yes, vf no)
{
    vi m = vi_bits(mask);
    return v_bits((m & vi_bits(yes)) | (~m & vi_bits(no)));
}
V_INLINE vf v_max(vf a, vf b) { return v_pick(v_gt(a, b), a, b); }
V_INLINE vf v_min(vf a, vf b) { return v_pick(v_lt(a, b), a, b); }
V_INLINE vf v_larger(vf a, vf b) { return v_pick(v_is_nan(a), a, v_max(a, b)); }
V_INLINE vf v_abs(vf a) { return v_bits(vi_bits(a) & 0x7fffffff); }
V_INLINE vf v_neg(vf a) { return -a; }
V_INLINE vf v_sign_bit(vf a) { return v_and(a, v_set(-0.0f)); }

V_INLINE vf v_round(vf a) { return (vf){rintf(a[0]), rintf(a[1]), rintf(a[2]), rintf(a[3])}; }
V_INLINE vf v_floor(vf a) { return (vf){floorf(a[0]), floorf(a[1]), floorf(a[2]), floorf(a[3])}; }
V_INLINE vf v_ceil(vf a) { return (vf){ceilf(a[0]), ceilf(a[1]), ceilf(a[2]), ceilf(a[3])}; }
/* A lane outside the range of int gives INT_MIN, as the instruction does; the conversion would be undefined. */
V_INLINE int32_t v_to_int_one(float x) { return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)rintf(x) : INT32_MIN; }
V_INLINE vi      v_to_int(vf a) { return (vi){v_to_int_one(a[0]), v_to_int_one(a[1]), v_to_int_one(a[2]), v_to_int_one(a[3])}; }
V_INLINE vf      v_from_int(vi a) { return (vf){(float)a[0], (float)a[1], (float)a[2], (float)a[3]}; }
V_INLINE vi      vi_set(int32_t x) { return (vi){x, x, x, x}; }
/* Wraps, as the instructions do. */
typedef uint32_t vu __attribute__((vector_size(16)));
V_INLINE vi      vi_add(vi a, vi b) { return (vi)((vu)a + (vu)b); }
V_INLINE vi      vi_sub(vi a, vi b) { return (vi)((vu)a - (vu)b); }
V_INLINE vi      vi_and(vi a, vi b) { return a & b; }
V_INLINE vi      vi_shift_left(vi a, int n) { return (vi)((vu)a << (uint32_t)n); }
V_INLINE vi      vi_shift_right(vi a, int n) { return a >> n; }

V_INLINE float v_sum(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
V_INLINE vf    v_sums(const vf *r) { return (vf){v_sum(r[0]), v_sum(r[1]), v_sum(r[2]), v_sum(r[3])}; }
V_INLINE float v_highest(vf a)
{
    float x = a[0];
    for (int i = 1; i < VW; i++)
        x = a[i] > x ? a[i] : x;
    return x;
}

V_INLINE void v_transpose(vf *r)
{
    vf a = r[0], b = r[1], c = r[2], d = r[3];
    for (int i = 0; i < VW; i++)
        r[i] = (vf){a[i], b[i], c[i], d[i]};
}

/* Lanes 0, 2, 4 ... of a, then of b. */
V_INLINE vf v_even(vf a, vf b) { return (vf){a[0], a[2], b[0], b[2]}; }

V_INLINE vf v_load_f16(const uint16_t *p)
{
    return (vf){as_f16_to_f32(p[0]), as_f16_to_f32(p[1]), as_f16_to_f32(p[2]), as_f16_to_f32(p[3])};
}
V_INLINE void v_store_f16(uint16_t *p, vf x)
{
    for (int i = 0; i < VW; i++)
        p[i] = as_f16_from_f32(x[i]);
}
V_INLINE vf v_load_bf16(const uint16_t *p)
{
    return (vf){as_bf16_to_f32(p[0]), as_bf16_to_f32(p[1]), as_bf16_to_f32(p[2]), as_bf16_to_f32(p[3])};
}

V_INLINE vi   vi_xor(vi a, vi b) { return a ^ b; }
V_INLINE void vi_mul_wide(vi a, uint32_t m, vi *high, vi *low)
{
    vu u = (vu)a, h, l;
    for (int i = 0; i < VW; i++) {
        uint64_t p = (uint64_t)u[i] * m;
        h[i] = (uint32_t)(p >> 32);
        l[i] = (uint32_t)p;
    }
    *high = (vi)h;
    *low = (vi)l;
}

#endif

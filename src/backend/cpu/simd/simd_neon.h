/* simd_neon.h - vectors of four floats on arm64; see simd_avx2.h for what the names mean. */
#ifndef AS_BACKEND_CPU_SIMD_H
#define AS_BACKEND_CPU_SIMD_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/cpu/simd/unroll.h"

#define AS_SIMD_NAME      "neon"
#define AS_SIMD_ISA       AS_ISA_NEON
#define AS_SIMD_REGISTERS 32

enum { VW = 4 };
typedef float32x4_t vf;
typedef int32x4_t   vi;

#define V_INLINE static inline __attribute__((always_inline, unused))

V_INLINE vf   v_zero(void) { return vdupq_n_f32(0.0f); }
V_INLINE vf   v_set(float x) { return vdupq_n_f32(x); }
V_INLINE vf   v_load(const float *p) { return vld1q_f32(p); }
V_INLINE void v_store(float *p, vf x) { vst1q_f32(p, x); }
V_INLINE vf   v_one(const float *p) { return vld1q_dup_f32(p); }

V_INLINE vf v_load_n(const float *p, int n)
{
    float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < 4; i++)
        if (i < n)
            x[i] = p[i];
    return vld1q_f32(x);
}
V_INLINE void v_store_n(float *p, int n, vf v)
{
    float x[4];
    vst1q_f32(x, v);
    for (int i = 0; i < 4; i++)
        if (i < n)
            p[i] = x[i];
}

V_INLINE vf         v_bits(vi a) { return vreinterpretq_f32_s32(a); }
V_INLINE vi         vi_bits(vf a) { return vreinterpretq_s32_f32(a); }
V_INLINE vf         v_of_u(uint32x4_t a) { return vreinterpretq_f32_u32(a); }
V_INLINE uint32x4_t v_to_u(vf a) { return vreinterpretq_u32_f32(a); }

V_INLINE vf v_add(vf a, vf b) { return vaddq_f32(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return vsubq_f32(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return vmulq_f32(a, b); }
V_INLINE vf v_div(vf a, vf b) { return vdivq_f32(a, b); }
V_INLINE vf v_inverse(vf a) { return vdivq_f32(vdupq_n_f32(1.0f), a); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
V_INLINE vf v_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
V_INLINE vf v_sqrt(vf a) { return vsqrtq_f32(a); }
/* NaN in either gives NaN here, which is more than required. */
V_INLINE vf v_max(vf a, vf b) { return vmaxq_f32(a, b); }
V_INLINE vf v_min(vf a, vf b) { return vminq_f32(a, b); }
V_INLINE vf v_larger(vf a, vf b) { return vmaxq_f32(a, b); }

V_INLINE vf v_and(vf a, vf b) { return v_of_u(vandq_u32(v_to_u(a), v_to_u(b))); }
V_INLINE vf v_or(vf a, vf b) { return v_of_u(vorrq_u32(v_to_u(a), v_to_u(b))); }
V_INLINE vf v_xor(vf a, vf b) { return v_of_u(veorq_u32(v_to_u(a), v_to_u(b))); }
V_INLINE vf v_abs(vf a) { return vabsq_f32(a); }
V_INLINE vf v_neg(vf a) { return vnegq_f32(a); }
V_INLINE vf v_sign_bit(vf a) { return v_and(a, vdupq_n_f32(-0.0f)); }
V_INLINE vf v_lt(vf a, vf b) { return v_of_u(vcltq_f32(a, b)); }
V_INLINE vf v_gt(vf a, vf b) { return v_of_u(vcgtq_f32(a, b)); }
V_INLINE vf v_eq(vf a, vf b) { return v_of_u(vceqq_f32(a, b)); }
V_INLINE vf v_is_nan(vf a) { return v_of_u(vmvnq_u32(vceqq_f32(a, a))); }
V_INLINE vf v_pick(vf mask, vf yes, vf no) { return vbslq_f32(v_to_u(mask), yes, no); }

V_INLINE vf v_round(vf a) { return vrndnq_f32(a); }
V_INLINE vf v_floor(vf a) { return vrndmq_f32(a); }
V_INLINE vf v_ceil(vf a) { return vrndpq_f32(a); }
V_INLINE vi v_to_int(vf a) { return vcvtnq_s32_f32(a); }
V_INLINE vf v_from_int(vi a) { return vcvtq_f32_s32(a); }
V_INLINE vi vi_set(int32_t x) { return vdupq_n_s32(x); }
V_INLINE vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
V_INLINE vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
V_INLINE vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
V_INLINE vi vi_shift_left(vi a, int n) { return vshlq_s32(a, vdupq_n_s32(n)); }
V_INLINE vi vi_shift_right(vi a, int n) { return vshlq_s32(a, vdupq_n_s32(-n)); }

V_INLINE float v_sum(vf a)
{
    float32x2_t s = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(vpadd_f32(s, s), 0);
}
/* Lane i of the result is the sum over the lanes of r[i]; VW vectors. */
V_INLINE vf    v_sums(const vf *r) { return vpaddq_f32(vpaddq_f32(r[0], r[1]), vpaddq_f32(r[2], r[3])); }
V_INLINE float v_highest(vf a) { return vmaxvq_f32(a); }

V_INLINE vf v_halves(vf a, vf b, bool high) /* the same half of both */
{
    float64x2_t p = vreinterpretq_f64_f32(a), q = vreinterpretq_f64_f32(b);
    return vreinterpretq_f32_f64(high ? vtrn2q_f64(p, q) : vtrn1q_f64(p, q));
}
V_INLINE void v_transpose(vf *r)
{
    vf a = vtrn1q_f32(r[0], r[1]), b = vtrn2q_f32(r[0], r[1]), c = vtrn1q_f32(r[2], r[3]), d = vtrn2q_f32(r[2], r[3]);
    r[0] = v_halves(a, c, false);
    r[1] = v_halves(b, d, false);
    r[2] = v_halves(a, c, true);
    r[3] = v_halves(b, d, true);
}

/* Lanes 0, 2, 4 ... of a, then of b. */
V_INLINE vf v_even(vf a, vf b) { return vuzp1q_f32(a, b); }

V_INLINE vf   v_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
V_INLINE void v_store_f16(uint16_t *p, vf x) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
V_INLINE vf   v_load_bf16(const uint16_t *p) { return v_of_u(vshll_n_u16(vld1_u16(p), 16)); }

V_INLINE vi   vi_xor(vi a, vi b) { return veorq_s32(a, b); }
V_INLINE void vi_mul_wide(vi a, uint32_t m, vi *high, vi *low)
{
    uint32x4_t u = vreinterpretq_u32_s32(a);
    uint32x4_t p = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(u), m)),
               q = vreinterpretq_u32_u64(vmull_n_u32(vget_high_u32(u), m));
    *high = vreinterpretq_s32_u32(vuzp2q_u32(p, q));
    *low = vreinterpretq_s32_u32(vuzp1q_u32(p, q));
}

#endif

/* q_neon.h - integers of quantised operators in vectors of four; see q_avx512.h for what the names mean.  With Q_DOTPROD defined
 * before, products of bytes are summed in fours by one instruction. */
#ifndef AS_BACKEND_CPU_Q_H
#define AS_BACKEND_CPU_Q_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "backend/cpu/simd/unroll.h"

#define Q_INLINE static inline __attribute__((always_inline, unused))

#define Q_ROWS 6
enum { QL = 4, Q_VECS = 4, Q_BIAS = 0 };
typedef int32_t qi __attribute__((vector_size(16)));
typedef float   qf __attribute__((vector_size(16)));

Q_INLINE uint8x8_t q_four(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return vreinterpret_u8_u32(vdup_n_u32(x));
}
Q_INLINE qi   q_load_u8(const uint8_t *p) { return (qi)vmovl_u16(vget_low_u16(vmovl_u8(q_four(p)))); }
Q_INLINE qi   q_load_i8(const uint8_t *p) { return (qi)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(q_four(p))))); }
Q_INLINE void q_store_8(uint8_t *p, const qi *v)
{
    int16x8_t a = vcombine_s16(vmovn_s32((int32x4_t)v[0]), vmovn_s32((int32x4_t)v[1]));
    int16x8_t b = vcombine_s16(vmovn_s32((int32x4_t)v[2]), vmovn_s32((int32x4_t)v[3]));
    vst1q_u8(p, vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(a), vmovn_s16(b))));
}
Q_INLINE qf q_within(qf x, qf low, qf high)
{
    return (qf)vminq_f32(vmaxq_f32((float32x4_t)x, (float32x4_t)low), (float32x4_t)high);
}
Q_INLINE qf q_clamp(qf x, qf low, qf high, qf other)
{
    float32x4_t y = vminq_f32(vmaxq_f32((float32x4_t)x, (float32x4_t)low), (float32x4_t)high);
    return (qf)vbslq_f32(vceqq_f32((float32x4_t)x, (float32x4_t)x), y, (float32x4_t)other);
}
Q_INLINE qi q_nearest(qf x) { return (qi)vcvtnq_s32_f32((float32x4_t)x); }
Q_INLINE qf q_least(qf best, qf x)
{
    return (qf)vbslq_f32(vcltq_f32((float32x4_t)x, (float32x4_t)best), (float32x4_t)x, (float32x4_t)best);
}
Q_INLINE qf q_most(qf best, qf x)
{
    return (qf)vbslq_f32(vcgtq_f32((float32x4_t)x, (float32x4_t)best), (float32x4_t)x, (float32x4_t)best);
}

#ifdef Q_DOTPROD
#define Q_NAME "dotprod"
#define Q_ISA  (AS_ISA_NEON | AS_ISA_DOTPROD)
enum { Q_TERMS = 4 };
typedef int8_t    q_term;
typedef int8x16_t q_a;
typedef int8x16_t q_b;
Q_INLINE q_b      q_load_b(const uint8_t *p) { return vreinterpretq_s8_u8(vld1q_u8(p)); }
Q_INLINE qi       q_dot(qi acc, q_a a, q_b b) { return (qi)vdotq_s32((int32x4_t)acc, a, b); }
Q_INLINE q_b      q_window(const uint8_t *p)
{
    static const uint8_t bytes[16] = {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6};
    return vreinterpretq_s8_u8(vqtbl1q_u8(vld1q_u8(p), vld1q_u8(bytes)));
}
Q_INLINE q_a q_all(const q_term *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return vreinterpretq_s8_u32(vdupq_n_u32(x));
}
#else
#define Q_NAME "neon"
#define Q_ISA  AS_ISA_NEON
enum { Q_TERMS = 1 };
typedef int16_t   q_term;
typedef int16x4_t q_a;
typedef int16x4_t q_b;
Q_INLINE q_b      q_load_b(const uint8_t *p) { return vget_low_s16(vmovl_s8(vreinterpret_s8_u8(q_four(p)))); }
Q_INLINE qi       q_dot(qi acc, q_a a, q_b b) { return (qi)vmlal_s16((int32x4_t)acc, a, b); }
Q_INLINE q_b      q_window(const uint8_t *p) { return q_load_b(p); }
Q_INLINE q_a      q_all(const q_term *p) { return vdup_n_s16(*p); }
#endif

#endif

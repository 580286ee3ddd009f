/* simd_avx2.h - vectors of eight floats on AVX2 with FMA; the other simd_*.h define the same names for their machines.
 *
 * A kernel's body is written once, with these names, in its own header (gemm_body.h, vmath.h ...); each k_<op>_<dtype>_<isa>.c
 * includes one of the simd_*.h and then the body.  Everything is static: files of different instruction sets never share a
 * function.
 *
 * v_fma(a,b,c) is a * b + c, in one rounding where the machine can.  A mask is a vector of all-ones or all-zeros lanes. */
#ifndef AS_BACKEND_CPU_SIMD_H
#define AS_BACKEND_CPU_SIMD_H

#include <immintrin.h>
#include <stdint.h>

#include "backend/cpu/simd/unroll.h"

#define AS_SIMD_NAME      "avx2"
#define AS_SIMD_ISA       AS_ISA_AVX2
#define AS_SIMD_REGISTERS 16

enum { VW = 8 }; /* floats per vector */
typedef __m256  vf;
typedef __m256i vi;

#define V_INLINE static inline __attribute__((always_inline, unused))

V_INLINE vf   v_zero(void) { return _mm256_setzero_ps(); }
V_INLINE vf   v_set(float x) { return _mm256_set1_ps(x); }
V_INLINE vf   v_load(const float *p) { return _mm256_loadu_ps(p); }
V_INLINE void v_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
V_INLINE vf   v_one(const float *p) { return _mm256_broadcast_ss(p); } /* the same float in all lanes */

/* The first n lanes, 0 <= n <= VW; the others are zero, or not written.  Accesses no byte of the others. */
V_INLINE vi   v_lanes(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
V_INLINE vf   v_load_n(const float *p, int n) { return _mm256_maskload_ps(p, v_lanes(n)); }
V_INLINE void v_store_n(float *p, int n, vf x) { _mm256_maskstore_ps(p, v_lanes(n), x); }

V_INLINE vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
/* 1 / a within an ulp, where both are normal numbers. */
V_INLINE vf v_inverse(vf a) { return _mm256_div_ps(_mm256_set1_ps(1.0f), a); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
V_INLINE vf v_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); } /* c - a * b */
V_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
/* NaN in b gives NaN, NaN in a gives b: v_max(bound, x) keeps the NaN of x. */
V_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
V_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
/* The larger; NaN in either gives NaN. A blend would take three steps on some machines. */
V_INLINE vf v_larger(vf a, vf b) { return _mm256_or_ps(_mm256_max_ps(a, b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q)); }

V_INLINE vf v_and(vf a, vf b) { return _mm256_and_ps(a, b); }
V_INLINE vf v_or(vf a, vf b) { return _mm256_or_ps(a, b); }
V_INLINE vf v_xor(vf a, vf b) { return _mm256_xor_ps(a, b); }
V_INLINE vf v_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
V_INLINE vf v_neg(vf a) { return _mm256_xor_ps(_mm256_set1_ps(-0.0f), a); }
V_INLINE vf v_sign_bit(vf a) { return _mm256_and_ps(_mm256_set1_ps(-0.0f), a); }
V_INLINE vf v_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); } /* false for a NaN */
V_INLINE vf v_gt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
V_INLINE vf v_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
V_INLINE vf v_is_nan(vf a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
V_INLINE vf v_pick(vf mask, vf yes, vf no) { return _mm256_blendv_ps(no, yes, mask); }

V_INLINE vf v_round(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
V_INLINE vf v_floor(vf a) { return _mm256_floor_ps(a); }
V_INLINE vf v_ceil(vf a) { return _mm256_ceil_ps(a); }
V_INLINE vi v_to_int(vf a) { return _mm256_cvtps_epi32(a); } /* nearest even; |a| below 2^31 */
V_INLINE vf v_from_int(vi a) { return _mm256_cvtepi32_ps(a); }
V_INLINE vi vi_set(int32_t x) { return _mm256_set1_epi32(x); }
V_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
V_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
V_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
V_INLINE vi vi_shift_left(vi a, int n) { return _mm256_slli_epi32(a, n); }
V_INLINE vi vi_shift_right(vi a, int n) { return _mm256_srai_epi32(a, n); } /* keeps the sign */
V_INLINE vf v_bits(vi a) { return _mm256_castsi256_ps(a); }                 /* the same bits */
V_INLINE vi vi_bits(vf a) { return _mm256_castps_si256(a); }

/* Over the lanes, always in the same order. */
V_INLINE float v_sum(vf a)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
/* Lane i of the result is the sum over the lanes of r[i]; VW vectors. */
V_INLINE vf v_sums(const vf *r)
{
    vf a = _mm256_hadd_ps(_mm256_hadd_ps(r[0], r[1]), _mm256_hadd_ps(r[2], r[3]));
    vf b = _mm256_hadd_ps(_mm256_hadd_ps(r[4], r[5]), _mm256_hadd_ps(r[6], r[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
V_INLINE float v_highest(vf a)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* Lane j of vector i becomes lane i of vector j; VW vectors. */
V_INLINE void v_transpose(vf *r)
{
    vf a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

/* Lanes 0, 2, 4 ... of a, then of b. */
V_INLINE vf v_even(vf a, vf b)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)), 0xd8));
}

/* 16-bit storage. */
V_INLINE vf   v_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)); }
V_INLINE void v_store_f16(uint16_t *p, vf x)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
V_INLINE vf v_load_bf16(const uint16_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16));
}

/* The 64 bits of each lane, unsigned, times m: the high and the low half. */
V_INLINE vi   vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
V_INLINE void vi_mul_wide(vi a, uint32_t m, vi *high, vi *low)
{
    vi k = _mm256_set1_epi32((int32_t)m), even = _mm256_mul_epu32(a, k), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), k);
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

#endif

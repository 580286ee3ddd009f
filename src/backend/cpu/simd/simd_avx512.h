/* simd_avx512.h - vectors of sixteen floats on AVX-512 (F, BW, DQ, VL); see simd_avx2.h for what the names mean. */
#ifndef AS_BACKEND_CPU_SIMD_H
#define AS_BACKEND_CPU_SIMD_H

#include <immintrin.h>
#include <stdint.h>

#include "backend/cpu/simd/unroll.h"

#define AS_SIMD_NAME      "avx512"
#define AS_SIMD_ISA       AS_ISA_AVX512
#define AS_SIMD_REGISTERS 32

enum { VW = 16 };
typedef __m512  vf;
typedef __m512i vi;

#define V_INLINE static inline __attribute__((always_inline, unused))

V_INLINE vf   v_zero(void) { return _mm512_setzero_ps(); }
V_INLINE vf   v_set(float x) { return _mm512_set1_ps(x); }
V_INLINE vf   v_load(const float *p) { return _mm512_loadu_ps(p); }
V_INLINE void v_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
V_INLINE vf   v_one(const float *p) { return _mm512_set1_ps(*p); }

V_INLINE __mmask16 v_lanes(int n) { return (__mmask16)((1u << n) - 1u); }
V_INLINE vf        v_load_n(const float *p, int n) { return _mm512_maskz_loadu_ps(v_lanes(n), p); }
V_INLINE void      v_store_n(float *p, int n, vf x) { _mm512_mask_storeu_ps(p, v_lanes(n), x); }

V_INLINE vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
V_INLINE vf v_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
/* A 14-bit estimate and one Newton step: a division of sixteen keeps its unit busy for sixteen cycles. */
V_INLINE vf v_inverse(vf a)
{
    vf guess = _mm512_rcp14_ps(a);
    return v_fma(guess, v_fnma(a, guess, v_set(1.0f)), guess);
}
V_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
V_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
V_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
/* Each maximum keeps the NaN of its second operand, and the OR keeps all bits; comparing into a mask would wait for one port. */
V_INLINE vf v_larger(vf a, vf b) { return _mm512_or_ps(_mm512_max_ps(a, b), _mm512_max_ps(b, a)); }

V_INLINE vf v_and(vf a, vf b) { return _mm512_and_ps(a, b); }
V_INLINE vf v_or(vf a, vf b) { return _mm512_or_ps(a, b); }
V_INLINE vf v_xor(vf a, vf b) { return _mm512_xor_ps(a, b); }
V_INLINE vf v_abs(vf a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
V_INLINE vf v_neg(vf a) { return _mm512_xor_ps(_mm512_set1_ps(-0.0f), a); }
V_INLINE vf v_sign_bit(vf a) { return _mm512_and_ps(_mm512_set1_ps(-0.0f), a); }
/* The machine's masks have their own registers; here they are vectors, as on the other machines. */
V_INLINE vf v_of_mask(__mmask16 m) { return _mm512_castsi512_ps(_mm512_movm_epi32(m)); }
V_INLINE vf v_lt(vf a, vf b) { return v_of_mask(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)); }
V_INLINE vf v_gt(vf a, vf b) { return v_of_mask(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ)); }
V_INLINE vf v_eq(vf a, vf b) { return v_of_mask(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)); }
V_INLINE vf v_is_nan(vf a) { return v_of_mask(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q)); }
V_INLINE vf v_pick(vf mask, vf yes, vf no)
{
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(mask)), no, yes);
}

V_INLINE vf v_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
V_INLINE vf v_floor(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
V_INLINE vf v_ceil(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
V_INLINE vi v_to_int(vf a) { return _mm512_cvtps_epi32(a); }
V_INLINE vf v_from_int(vi a) { return _mm512_cvtepi32_ps(a); }
V_INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
V_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
V_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
V_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
V_INLINE vi vi_shift_left(vi a, int n) { return _mm512_slli_epi32(a, (unsigned)n); }
V_INLINE vi vi_shift_right(vi a, int n) { return _mm512_srai_epi32(a, (unsigned)n); }
V_INLINE vf v_bits(vi a) { return _mm512_castsi512_ps(a); }
V_INLINE vi vi_bits(vf a) { return _mm512_castps_si512(a); }

/* Adds halves repeatedly, always in the same order. */
V_INLINE float v_sum(vf a)
{
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
/* Pairs, then pairs of pairs: each step halves the vectors and keeps both of their sums. */
V_INLINE vf v_sums(const vf *r)
{
    vf a[8], b[4];
    V_UNROLL
    for (int i = 0; i < 8; i++) /* lanes r[i] r[i + 8] r[i] r[i + 8] in every quarter */
        a[i] = _mm512_add_ps(_mm512_unpacklo_ps(r[i], r[i + 8]), _mm512_unpackhi_ps(r[i], r[i + 8]));
    V_UNROLL
    for (int i = 0; i < 4; i++) /* r[i] r[i + 4] r[i + 8] r[i + 12] */
        b[i] = _mm512_add_ps(_mm512_unpacklo_ps(a[i], a[i + 4]), _mm512_unpackhi_ps(a[i], a[i + 4]));
    vf c = _mm512_add_ps(_mm512_shuffle_f32x4(b[0], b[1], 0x44), _mm512_shuffle_f32x4(b[0], b[1], 0xee));
    vf d = _mm512_add_ps(_mm512_shuffle_f32x4(b[2], b[3], 0x44), _mm512_shuffle_f32x4(b[2], b[3], 0xee));
    vf e = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x88), _mm512_shuffle_f32x4(c, d, 0xdd)); /* quarter i: r[i] r[i + 4] ... */
    const vi turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_ps(turn, e);
}
V_INLINE float v_highest(vf a)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* Within quarters of four lanes first, then the quarters themselves. */
V_INLINE void v_transpose(vf *r)
{
    vf a[16], b[16];
    V_UNROLL
    for (int i = 0; i < 16; i += 2) {
        a[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        a[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    V_UNROLL
    for (int i = 0; i < 16; i += 4) {
        b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    V_UNROLL
    for (int i = 0; i < 4; i++) {
        vf low = _mm512_shuffle_f32x4(b[i], b[i + 4], 0x44), high = _mm512_shuffle_f32x4(b[i], b[i + 4], 0xee);
        vf low2 = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0x44), high2 = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0xee);
        r[i] = _mm512_shuffle_f32x4(low, low2, 0x88);
        r[i + 4] = _mm512_shuffle_f32x4(low, low2, 0xdd);
        r[i + 8] = _mm512_shuffle_f32x4(high, high2, 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(high, high2, 0xdd);
    }
}

/* Lanes 0, 2, 4 ... of a, then of b. */
V_INLINE vf v_even(vf a, vf b)
{
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
}

V_INLINE vf   v_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
V_INLINE void v_store_f16(uint16_t *p, vf x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
V_INLINE vf v_load_bf16(const uint16_t *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p)), 16));
}

V_INLINE vi   vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
V_INLINE void vi_mul_wide(vi a, uint32_t m, vi *high, vi *low)
{
    vi k = _mm512_set1_epi32((int32_t)m), even = _mm512_mul_epu32(a, k), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), k);
    *high = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
    *low = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}

#endif

/* q_avx512.h - integers of quantised operators in vectors of sixteen.  With Q_VNNI defined before, products of bytes are summed in
 * fours by one instruction; without, they are widened to 16 bits and summed in pairs: exact as well, at half the speed.
 *
 * Every q_*.h has the same words:
 *   QL            lanes of 32 bits; qi and qf are vectors of them
 *   Q_TERMS       terms of a dot product that one q_dot adds to each lane
 *   Q_BIAS        what a byte of a panel has more than its signed value: 128 where panels hold unsigned bytes, else 0
 *   q_term        a term of the other operand, which is signed
 *   q_dot         acc + the products of q_a, the same Q_TERMS terms in every lane, and q_b, Q_TERMS bytes per lane of a panel
 *   q_window      a q_b of neighbouring lines: lane j has the Q_TERMS bytes from p + j on; reads at most 32 bytes
 *   q_nearest     the nearest integer, ties to even, of numbers far below 2^22
 *   Q_ROWS, Q_VECS   rows and vectors of a tile that fits in the registers */
#ifndef AS_BACKEND_CPU_Q_H
#define AS_BACKEND_CPU_Q_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "backend/cpu/simd/unroll.h"

#define Q_INLINE static inline __attribute__((always_inline, unused))

#define Q_ROWS 12
enum { QL = 16, Q_VECS = 2, Q_BIAS = 128 };
typedef int32_t qi __attribute__((vector_size(64)));
typedef float   qf __attribute__((vector_size(64)));

Q_INLINE qi   q_load_u8(const uint8_t *p) { return (qi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)); }
Q_INLINE qi   q_load_i8(const uint8_t *p) { return (qi)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)); }
Q_INLINE void q_store_8(uint8_t *p, const qi *v) { _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)v[0])); }
/* x, a number, between the bounds. */
Q_INLINE qf q_within(qf x, qf low, qf high) { return (qf)_mm512_min_ps(_mm512_max_ps((__m512)x, (__m512)low), (__m512)high); }
/* The same, and `other` where it is not a number. */
Q_INLINE qf q_clamp(qf x, qf low, qf high, qf other)
{
    __m512 y = _mm512_min_ps(_mm512_max_ps((__m512)x, (__m512)low), (__m512)high);
    return (qf)_mm512_mask_mov_ps(y, _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q), (__m512)other);
}
Q_INLINE qi q_nearest(qf x) { return (qi)_mm512_cvtps_epi32((__m512)x); }
/* The lesser and the greater; `best` where x is not a number. */
Q_INLINE qf q_least(qf best, qf x) { return (qf)_mm512_min_ps((__m512)x, (__m512)best); }
Q_INLINE qf q_most(qf best, qf x) { return (qf)_mm512_max_ps((__m512)x, (__m512)best); }

typedef __m512i q_a;
typedef __m512i q_b;
#ifdef Q_VNNI
#define Q_NAME "vnni"
#define Q_ISA  (AS_ISA_AVX512 | AS_ISA_VNNI)
enum { Q_TERMS = 4 };
typedef int8_t q_term;
Q_INLINE q_b   q_load_b(const uint8_t *p) { return _mm512_loadu_si512(p); }
Q_INLINE qi    q_dot(qi acc, q_a a, q_b b) { return (qi)_mm512_dpbusd_epi32((__m512i)acc, b, a); }
Q_INLINE q_b   q_window(const uint8_t *p)
{
    const __m512i dwords = _mm512_setr_epi32(0, 1, 0, 0, 1, 2, 0, 0, 2, 3, 0, 0, 3, 4, 0, 0);
    const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
    __m512i       x = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(dwords, x), bytes);
}
#else
#define Q_NAME "avx512"
#define Q_ISA  AS_ISA_AVX512
enum { Q_TERMS = 2 };
typedef int16_t q_term;
Q_INLINE q_b    q_load_b(const uint8_t *p) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
Q_INLINE qi     q_dot(qi acc, q_a a, q_b b) { return (qi)_mm512_add_epi32((__m512i)acc, _mm512_madd_epi16(a, b)); }
#endif
#ifndef Q_VNNI
/* Pairs, widened to 16 bits. */
Q_INLINE q_b q_window(const uint8_t *p)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(p + 1));
    __m512i a = _mm512_cvtepu8_epi32(_mm256_castsi256_si128(low)), b = _mm512_cvtepu8_epi32(next);
    return _mm512_or_si512(a, _mm512_slli_epi32(b, 16));
}
#endif
Q_INLINE q_a q_all(const q_term *p)
{
    int32_t x;
    memcpy(&x, p, sizeof x);
    return _mm512_set1_epi32(x);
}

#endif

/* q_avx2.h - integers of quantised operators in vectors of eight; see q_avx512.h for what the names mean.
 *
 * vpmaddubsw would multiply twice as many bytes, but it saturates its sums of two at 16 bits: 255 * 127 + 255 * 127 does not fit. */
#ifndef AS_BACKEND_CPU_Q_H
#define AS_BACKEND_CPU_Q_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "backend/cpu/simd/unroll.h"

#define Q_INLINE static inline __attribute__((always_inline, unused))
#define Q_NAME   "avx2"
#define Q_ISA    AS_ISA_AVX2

#define Q_ROWS 6
enum { QL = 8, Q_VECS = 2, Q_BIAS = 128, Q_TERMS = 2 };
typedef int32_t qi __attribute__((vector_size(32)));
typedef float   qf __attribute__((vector_size(32)));

Q_INLINE qi q_load_u8(const uint8_t *p) { return (qi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)); }
Q_INLINE qi q_load_i8(const uint8_t *p) { return (qi)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)); }
/* The low bytes of sixteen numbers between -128 and 255. */
Q_INLINE void q_store_8(uint8_t *p, const qi *v)
{
    const __m256i low = _mm256_set1_epi32(255), order = _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5);
    __m256i       words = _mm256_packus_epi32(_mm256_and_si256((__m256i)v[0], low), _mm256_and_si256((__m256i)v[1], low));
    __m256i       bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, words), order);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(bytes));
}
Q_INLINE qf q_within(qf x, qf low, qf high) { return (qf)_mm256_min_ps(_mm256_max_ps((__m256)x, (__m256)low), (__m256)high); }
Q_INLINE qf q_clamp(qf x, qf low, qf high, qf other)
{
    __m256 y = _mm256_min_ps(_mm256_max_ps((__m256)x, (__m256)low), (__m256)high);
    return (qf)_mm256_blendv_ps(y, (__m256)other, _mm256_cmp_ps((__m256)x, (__m256)x, _CMP_UNORD_Q));
}
Q_INLINE qi q_nearest(qf x) { return (qi)_mm256_cvtps_epi32((__m256)x); }
Q_INLINE qf q_least(qf best, qf x) { return (qf)_mm256_min_ps((__m256)x, (__m256)best); }
Q_INLINE qf q_most(qf best, qf x) { return (qf)_mm256_max_ps((__m256)x, (__m256)best); }

typedef int16_t q_term;
typedef __m256i q_a;
typedef __m256i q_b;
Q_INLINE q_b    q_load_b(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p)); }
Q_INLINE qi     q_dot(qi acc, q_a a, q_b b) { return (qi)_mm256_add_epi32((__m256i)acc, _mm256_madd_epi16(a, b)); }
Q_INLINE q_b    q_window(const uint8_t *p)
{
    const __m256i pairs = _mm256_setr_epi8(0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1, 4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6,
                                           -1, 7, -1, 7, -1, 8, -1);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p)), pairs);
}
Q_INLINE q_a q_all(const q_term *p)
{
    int32_t x;
    memcpy(&x, p, sizeof x);
    return _mm256_set1_epi32(x);
}

#endif

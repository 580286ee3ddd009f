/* rf_madd_i8_avx2.c - the rate of int8 products, 32 at a time. */
#include <immintrin.h>

#define MADD_VECTOR      __m256i
#define MADD_BYTES       32
#define MADD_LOAD(p)     _mm256_loadu_si256(p)
#define MADD_STORE(p, x) _mm256_storeu_si256(p, x)
#define MADD_SET(x)      _mm256_set1_epi8(x)
#define MADD(a, b)       _mm256_maddubs_epi16(a, b)
#define MADD_ADD(a, b)   _mm256_add_epi16(a, b)
#include "roof/meter/body_madd.h"

const as_meter as_rf_madd_i8_avx2 = {
    .name = "madd.i8.avx2",
    .unit = "op/s",
    .what = "12 chains of vpmaddubsw and vpaddw; a product or an addition counts 1",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_AVX2,
    .rank = 20,
    .order = 14,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};

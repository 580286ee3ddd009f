/* rf_madd_i8_avx512.c - the rate of int8 products, 64 at a time. */
#include <immintrin.h>

#define MADD_VECTOR      __m512i
#define MADD_BYTES       64
#define MADD_LOAD(p)     _mm512_loadu_si512(p)
#define MADD_STORE(p, x) _mm512_storeu_si512(p, x)
#define MADD_SET(x)      _mm512_set1_epi8(x)
#define MADD(a, b)       _mm512_maddubs_epi16(a, b)
#define MADD_ADD(a, b)   _mm512_add_epi16(a, b)
#include "roof/meter/body_madd.h"

const as_meter as_rf_madd_i8_avx512 = {
    .name = "madd.i8.avx512",
    .unit = "op/s",
    .what = "12 chains of vpmaddubsw and vpaddw; a product or an addition counts 1",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_AVX512,
    .rank = 30,
    .order = 14,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};

/* rf_fma_f64_avx2.c - fused multiply-adds of four doubles. */
#include <immintrin.h>

#define FMA_VECTOR      __m256d
#define FMA_ELEMENT     double
#define FMA_LANES       4
#define FMA_LOAD(p)     _mm256_loadu_pd(p)
#define FMA_STORE(p, x) _mm256_storeu_pd(p, x)
#define FMA(a, b, c)    _mm256_fmadd_pd(a, b, c)
#include "roof/meter/body_fma.h"

const as_meter as_rf_fma_f64_avx2 = {
    .name = "fma.f64.avx2",
    .unit = "flop/s",
    .what = "12 chains of fused multiply-adds in registers",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_AVX2,
    .rank = 20,
    .order = 12,
    .n_streams = 1,
    .lanes = FMA_LANES,
    .per_pass = per_pass,
    .run = run,
};

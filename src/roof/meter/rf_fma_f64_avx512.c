/* rf_fma_f64_avx512.c - fused multiply-adds of eight doubles. */
#include <immintrin.h>

#define FMA_VECTOR      __m512d
#define FMA_ELEMENT     double
#define FMA_LANES       8
#define FMA_LOAD(p)     _mm512_loadu_pd(p)
#define FMA_STORE(p, x) _mm512_storeu_pd(p, x)
#define FMA(a, b, c)    _mm512_fmadd_pd(a, b, c)
#include "roof/meter/body_fma.h"

const as_meter as_rf_fma_f64_avx512 = {
    .name = "fma.f64.avx512",
    .unit = "flop/s",
    .what = "12 chains of fused multiply-adds in registers",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_AVX512,
    .rank = 30,
    .order = 12,
    .n_streams = 1,
    .lanes = FMA_LANES,
    .per_pass = per_pass,
    .run = run,
};

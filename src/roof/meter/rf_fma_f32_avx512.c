/* rf_fma_f32_avx512.c - fused multiply-adds of sixteen floats. */
#include "backend/cpu/simd/simd_avx512.h"
#include "roof/meter/body_f32.h"

const as_meter as_rf_fma_f32_avx512 = {
    .name = "fma.f32.avx512",
    .unit = "flop/s",
    .what = "12 chains of fused multiply-adds in registers",
    .kind = AS_METER_REGISTERS,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .order = 10,
    .n_streams = 1,
    .lanes = VW,
    .per_pass = per_pass,
    .run = run,
};

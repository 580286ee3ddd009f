/* rf_fma_f32_neon.c - fused multiply-adds of four floats. */
#include "backend/cpu/simd/simd_neon.h"
#include "roof/meter/body_f32.h"

const as_meter as_rf_fma_f32_neon = {
    .name = "fma.f32.neon",
    .unit = "flop/s",
    .what = "24 chains of fused multiply-adds in registers",
    .kind = AS_METER_REGISTERS,
    .isa = AS_SIMD_ISA,
    .rank = 20,
    .order = 10,
    .n_streams = 1,
    .lanes = VW,
    .per_pass = per_pass,
    .run = run,
};

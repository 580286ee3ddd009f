/* rf_fma_f32_scalar.c - a multiplication and an addition of four floats, in the compiler's own terms. */
#include "backend/cpu/simd/simd_plain.h"
#include "roof/meter/body_f32.h"

const as_meter as_rf_fma_f32_scalar = {
    .name = "fma.f32.scalar",
    .unit = "flop/s",
    .what = "chains of x * m + c in registers, two roundings",
    .kind = AS_METER_REGISTERS,
    .isa = AS_SIMD_ISA,
    .rank = 0,
    .order = 10,
    .n_streams = 1,
    .lanes = 0,
    .per_pass = per_pass,
    .run = run,
};

/* rf_exp_f32_neon.c - the rate of our own vector exp. */
#include "backend/cpu/simd/simd_neon.h"
#include "backend/cpu/simd/vmath.h"
#define MAP(x) vm_exp(x)
#include "roof/meter/body_map.h"

const as_meter as_rf_exp_f32_neon = {
    .name = "exp.f32.neon",
    .unit = "element/s",
    .what = "exp of floats in L1",
    .kind = AS_METER_L1,
    .isa = AS_SIMD_ISA,
    .rank = 20,
    .order = 30,
    .n_streams = 2,
    .per_pass = per_pass,
    .run = run,
};

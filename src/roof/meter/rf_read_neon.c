/* rf_read_neon.c - loads from each level of memory. */
#include "backend/cpu/simd/simd_neon.h"
#include "roof/meter/body_read.h"

const as_meter as_rf_read_neon = {
    .name = "read",
    .unit = "byte/s",
    .what = "12 independent loads per step (neon)",
    .kind = AS_METER_LEVELS,
    .isa = AS_SIMD_ISA,
    .rank = 20,
    .order = 20,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};

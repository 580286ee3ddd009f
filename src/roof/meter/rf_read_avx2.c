/* rf_read_avx2.c - loads from each level of memory. */
#include "backend/cpu/simd/simd_avx2.h"
#include "roof/meter/body_read.h"

const as_meter as_rf_read_avx2 = {
    .name = "read",
    .unit = "byte/s",
    .what = "12 independent loads per step (avx2)",
    .kind = AS_METER_LEVELS,
    .isa = AS_SIMD_ISA,
    .rank = 20,
    .order = 20,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};

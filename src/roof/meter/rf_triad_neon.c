/* rf_triad_neon.c - two streams read, one written, with ordinary stores. */
#include "backend/cpu/simd/simd_neon.h"
#define TRIAD_STORE(p, x) v_store(p, x)
#include "roof/meter/body_triad.h"

const as_meter as_rf_triad_neon = {
    .name = "triad",
    .unit = "byte/s",
    .what = "a = b + s * c (neon), counted as 2 reads and 1 write",
    .kind = AS_METER_LEVELS,
    .isa = AS_SIMD_ISA,
    .rank = 20,
    .order = 22,
    .n_streams = 3,
    .per_pass = per_pass,
    .run = run,
};

/* k_pool_f32_neon.c - the four pools, arm64. */
#include "backend/cpu/simd/simd_neon.h"
#include "backend/cpu/conv/pool_body.h"

const as_kernel as_k_pool_f32_neon = {
    .name = "pool_f32_neon",
    .op = "MaxPool",
    .also = pool_also,
    .isa = AS_ISA_NEON,
    .rank = 30,
    .why = "vectors over channels where the input is NHWC",
    .accepts = pool_accepts,
    .run = pool_run,
};

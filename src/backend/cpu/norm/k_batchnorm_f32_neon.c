/* k_batchnorm_f32_neon.c - channels less given means over given deviations, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/batchnorm_body.h"

const as_kernel as_k_batchnorm_f32_neon = {
    .name = "batchnorm_f32_neon",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one factor per channel, computed once, vectors of four",
    .in_place = 1,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

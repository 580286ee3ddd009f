/* k_batchnorm_f32_avx2.c - channels less given means over given deviations, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/batchnorm_body.h"

const as_kernel as_k_batchnorm_f32_avx2 = {
    .name = "batchnorm_f32_avx2",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one factor per channel, computed once, vectors of eight",
    .in_place = 1,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

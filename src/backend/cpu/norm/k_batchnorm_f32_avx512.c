/* k_batchnorm_f32_avx512.c - channels less given means over given deviations, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/batchnorm_body.h"

const as_kernel as_k_batchnorm_f32_avx512 = {
    .name = "batchnorm_f32_avx512",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "one factor per channel, computed once, vectors of sixteen",
    .in_place = 1,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

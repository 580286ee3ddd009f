/* k_batchnorm_f32_scalar.c - channels less given means over given deviations, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/batchnorm_body.h"

const as_kernel as_k_batchnorm_f32_scalar = {
    .name = "batchnorm_f32_scalar",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "one factor per channel, computed once, the compiler's vectors",
    .in_place = 1,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

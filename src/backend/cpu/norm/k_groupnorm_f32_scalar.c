/* k_groupnorm_f32_scalar.c - groups of channels less their mean over their deviation, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/groupnorm_body.h"

const as_kernel as_k_groupnorm_f32_scalar = {
    .name = "groupnorm_f32_scalar",
    .op = "GroupNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "a group at a time, the compiler's vectors",
    .also = also,
    .in_place = 1,
    .accepts = as_kernel_f32_only,
    .run = run,
};

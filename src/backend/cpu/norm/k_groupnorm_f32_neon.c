/* k_groupnorm_f32_neon.c - groups of channels less their mean over their deviation, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/groupnorm_body.h"

const as_kernel as_k_groupnorm_f32_neon = {
    .name = "groupnorm_f32_neon",
    .op = "GroupNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "a group at a time, vectors of four",
    .also = also,
    .in_place = 1,
    .accepts = as_kernel_f32_only,
    .run = run,
};

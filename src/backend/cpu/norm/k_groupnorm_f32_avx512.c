/* k_groupnorm_f32_avx512.c - groups of channels less their mean over their deviation, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/groupnorm_body.h"

const as_kernel as_k_groupnorm_f32_avx512 = {
    .name = "groupnorm_f32_avx512",
    .op = "GroupNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "a group at a time, vectors of sixteen",
    .also = also,
    .in_place = 1,
    .accepts = as_kernel_f32_only,
    .run = run,
};

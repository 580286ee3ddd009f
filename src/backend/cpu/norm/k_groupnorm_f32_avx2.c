/* k_groupnorm_f32_avx2.c - groups of channels less their mean over their deviation, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/groupnorm_body.h"

const as_kernel as_k_groupnorm_f32_avx2 = {
    .name = "groupnorm_f32_avx2",
    .op = "GroupNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "a group at a time, vectors of eight",
    .also = also,
    .in_place = 1,
    .accepts = as_kernel_f32_only,
    .run = run,
};

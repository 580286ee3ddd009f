/* k_accumulate_f32_avx2.c - a sum of gradients, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/train/accumulate_body.h"

const as_kernel as_k_accumulate_f32_avx2 = {
    .name = "accumulate_f32_avx2",
    .op = "assay.Accumulate",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass, vectors of eight",
    .accepts = as_kernel_f32_only,
    .run = run,
    .in_place = 1,
    .shares = shares,
};

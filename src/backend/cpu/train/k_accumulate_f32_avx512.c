/* k_accumulate_f32_avx512.c - a sum of gradients, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/train/accumulate_body.h"

const as_kernel as_k_accumulate_f32_avx512 = {
    .name = "accumulate_f32_avx512",
    .op = "assay.Accumulate",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "one pass, vectors of sixteen",
    .accepts = as_kernel_f32_only,
    .run = run,
    .in_place = 1,
    .shares = shares,
};

/* k_accumulate_f32_neon.c - a sum of gradients, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/train/accumulate_body.h"

const as_kernel as_k_accumulate_f32_neon = {
    .name = "accumulate_f32_neon",
    .op = "assay.Accumulate",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass, vectors of four",
    .accepts = as_kernel_f32_only,
    .run = run,
    .in_place = 1,
    .shares = shares,
};

/* k_accumulate_f32_scalar.c - a sum of gradients, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/train/accumulate_body.h"

const as_kernel as_k_accumulate_f32_scalar = {
    .name = "accumulate_f32_scalar",
    .op = "assay.Accumulate",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "one pass, the compiler's vectors",
    .accepts = as_kernel_f32_only,
    .run = run,
    .in_place = 1,
    .shares = shares,
};

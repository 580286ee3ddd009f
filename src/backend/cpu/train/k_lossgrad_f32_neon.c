/* k_lossgrad_f32_neon.c - the gradient of a mean over elements, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/train/lossgrad_body.h"

const as_kernel as_k_lossgrad_f32_neon = {
    .name = "lossgrad_f32_neon",
    .op = "assay.MseGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass, vectors of four",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
};

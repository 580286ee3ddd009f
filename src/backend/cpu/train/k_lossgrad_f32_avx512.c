/* k_lossgrad_f32_avx512.c - the gradient of a mean over elements, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/train/lossgrad_body.h"

const as_kernel as_k_lossgrad_f32_avx512 = {
    .name = "lossgrad_f32_avx512",
    .op = "assay.MseGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "one pass, vectors of sixteen",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
};

/* k_lossgrad_f32_avx2.c - the gradient of a mean over elements, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/train/lossgrad_body.h"

const as_kernel as_k_lossgrad_f32_avx2 = {
    .name = "lossgrad_f32_avx2",
    .op = "assay.MseGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass, vectors of eight",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
};

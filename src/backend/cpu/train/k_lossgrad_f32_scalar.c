/* k_lossgrad_f32_scalar.c - the gradient of a mean over elements, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/train/lossgrad_body.h"

const as_kernel as_k_lossgrad_f32_scalar = {
    .name = "lossgrad_f32_scalar",
    .op = "assay.MseGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "one pass, the compiler's vectors",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
};

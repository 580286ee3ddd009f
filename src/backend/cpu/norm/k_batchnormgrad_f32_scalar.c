/* k_batchnormgrad_f32_scalar.c - gradients of a batch normalisation, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/batchnormgrad_body.h"

const as_kernel as_k_batchnormgrad_f32_scalar = {
    .name = "batchnormgrad_f32_scalar",
    .op = "assay.BatchNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "two passes, sums by shards, the compiler's vectors",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

/* k_batchnormgrad_f32_neon.c - gradients of a batch normalisation, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/batchnormgrad_body.h"

const as_kernel as_k_batchnormgrad_f32_neon = {
    .name = "batchnormgrad_f32_neon",
    .op = "assay.BatchNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "two passes, sums by shards, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

/* k_batchnormgrad_f32_avx512.c - gradients of a batch normalisation, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/batchnormgrad_body.h"

const as_kernel as_k_batchnormgrad_f32_avx512 = {
    .name = "batchnormgrad_f32_avx512",
    .op = "assay.BatchNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "two passes, sums by shards, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

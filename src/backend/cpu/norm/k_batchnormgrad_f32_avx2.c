/* k_batchnormgrad_f32_avx2.c - gradients of a batch normalisation, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/batchnormgrad_body.h"

const as_kernel as_k_batchnormgrad_f32_avx2 = {
    .name = "batchnormgrad_f32_avx2",
    .op = "assay.BatchNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "two passes, sums by shards, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

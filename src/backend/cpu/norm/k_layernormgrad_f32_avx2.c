/* k_layernormgrad_f32_avx2.c - gradients of a layer normalisation, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/layernormgrad_body.h"

const as_kernel as_k_layernormgrad_f32_avx2 = {
    .name = "layernormgrad_f32_avx2",
    .op = "assay.LayerNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "line by line, sums by shards, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

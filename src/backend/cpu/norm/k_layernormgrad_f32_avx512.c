/* k_layernormgrad_f32_avx512.c - gradients of a layer normalisation, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/layernormgrad_body.h"

const as_kernel as_k_layernormgrad_f32_avx512 = {
    .name = "layernormgrad_f32_avx512",
    .op = "assay.LayerNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "line by line, sums by shards, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

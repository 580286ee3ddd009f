/* k_layernormgrad_f32_neon.c - gradients of a layer normalisation, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/layernormgrad_body.h"

const as_kernel as_k_layernormgrad_f32_neon = {
    .name = "layernormgrad_f32_neon",
    .op = "assay.LayerNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "line by line, sums by shards, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

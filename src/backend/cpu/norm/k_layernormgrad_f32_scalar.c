/* k_layernormgrad_f32_scalar.c - gradients of a layer normalisation, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/layernormgrad_body.h"

const as_kernel as_k_layernormgrad_f32_scalar = {
    .name = "layernormgrad_f32_scalar",
    .op = "assay.LayerNormGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "line by line, sums by shards, the compiler's vectors",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

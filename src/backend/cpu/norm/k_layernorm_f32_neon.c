/* k_layernorm_f32_neon.c - lines less their mean over their deviation, or over their root mean square, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/layernorm_body.h"

const as_kernel as_k_layernorm_f32_neon = {
    .name = "layernorm_f32_neon",
    .op = "LayerNormalization",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "a line at a time, vectors of four",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

/* k_layernorm_f32_avx512.c - lines less their mean over their deviation, or over their root mean square, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/layernorm_body.h"

const as_kernel as_k_layernorm_f32_avx512 = {
    .name = "layernorm_f32_avx512",
    .op = "LayerNormalization",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "a line at a time, vectors of sixteen",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

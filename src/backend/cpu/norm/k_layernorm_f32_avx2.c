/* k_layernorm_f32_avx2.c - lines less their mean over their deviation, or over their root mean square, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/layernorm_body.h"

const as_kernel as_k_layernorm_f32_avx2 = {
    .name = "layernorm_f32_avx2",
    .op = "LayerNormalization",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "a line at a time, vectors of eight",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

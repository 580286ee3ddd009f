/* k_layernorm_f32_scalar.c - lines less their mean over their deviation, or over their root mean square, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/layernorm_body.h"

const as_kernel as_k_layernorm_f32_scalar = {
    .name = "layernorm_f32_scalar",
    .op = "LayerNormalization",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "a line at a time, the compiler's vectors",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

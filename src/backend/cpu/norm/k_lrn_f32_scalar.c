/* k_lrn_f32_scalar.c - LRN, vectors of four. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/lrn_body.h"

const as_kernel as_k_lrn_f32_scalar = {
    .name = "lrn_f32_scalar",
    .op = "LRN",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "columns of planes, vectors of four",
    .accepts = accepts,
    .run = run,
};

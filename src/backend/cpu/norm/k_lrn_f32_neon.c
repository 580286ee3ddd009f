/* k_lrn_f32_neon.c - LRN, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/lrn_body.h"

const as_kernel as_k_lrn_f32_neon = {
    .name = "lrn_f32_neon",
    .op = "LRN",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "columns of planes, vectors of four",
    .accepts = accepts,
    .run = run,
};

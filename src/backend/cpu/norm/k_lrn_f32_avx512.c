/* k_lrn_f32_avx512.c - LRN, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/lrn_body.h"

const as_kernel as_k_lrn_f32_avx512 = {
    .name = "lrn_f32_avx512",
    .op = "LRN",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "columns of planes, vectors of sixteen",
    .accepts = accepts,
    .run = run,
};

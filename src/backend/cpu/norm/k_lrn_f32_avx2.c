/* k_lrn_f32_avx2.c - LRN, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/lrn_body.h"

const as_kernel as_k_lrn_f32_avx2 = {
    .name = "lrn_f32_avx2",
    .op = "LRN",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "columns of planes, vectors of eight",
    .accepts = accepts,
    .run = run,
};

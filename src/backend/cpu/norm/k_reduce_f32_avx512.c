/* k_reduce_f32_avx512.c - sums, means, extremes and norms along axes, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/reduce_body.h"

const as_kernel as_k_reduce_f32_avx512 = {
    .name = "reduce_f32_avx512",
    .op = "ReduceSum",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "rows of joined axes, vectors of sixteen",
    .in_place = 0,
    .accepts = accepts,
    .run = run,
};

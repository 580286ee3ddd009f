/* k_reduce_f32_avx2.c - sums, means, extremes and norms along axes, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/reduce_body.h"

const as_kernel as_k_reduce_f32_avx2 = {
    .name = "reduce_f32_avx2",
    .op = "ReduceSum",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "rows of joined axes, vectors of eight",
    .in_place = 0,
    .accepts = accepts,
    .run = run,
};

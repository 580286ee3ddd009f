/* k_reduce_f32_neon.c - sums, means, extremes and norms along axes, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/reduce_body.h"

const as_kernel as_k_reduce_f32_neon = {
    .name = "reduce_f32_neon",
    .op = "ReduceSum",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "rows of joined axes, vectors of four",
    .in_place = 0,
    .accepts = accepts,
    .run = run,
};

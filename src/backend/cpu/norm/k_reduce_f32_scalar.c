/* k_reduce_f32_scalar.c - sums, means, extremes and norms along axes, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/reduce_body.h"

const as_kernel as_k_reduce_f32_scalar = {
    .name = "reduce_f32_scalar",
    .op = "ReduceSum",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "rows of joined axes, the compiler's vectors",
    .in_place = 0,
    .accepts = accepts,
    .run = run,
};

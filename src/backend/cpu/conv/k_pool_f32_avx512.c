/* k_pool_f32_avx512.c - the four pools, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"
#include "backend/cpu/conv/pool_body.h"

const as_kernel as_k_pool_f32_avx512 = {
    .name = "pool_f32_avx512",
    .op = "MaxPool",
    .also = pool_also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "vectors over channels where the input is NHWC",
    .accepts = pool_accepts,
    .run = pool_run,
};

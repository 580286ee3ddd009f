/* k_pool_f32_avx2.c - the four pools, AVX2 with FMA. */
#include "backend/cpu/simd/simd_avx2.h"
#include "backend/cpu/conv/pool_body.h"

const as_kernel as_k_pool_f32_avx2 = {
    .name = "pool_f32_avx2",
    .op = "MaxPool",
    .also = pool_also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "vectors over channels where the input is NHWC",
    .accepts = pool_accepts,
    .run = pool_run,
};

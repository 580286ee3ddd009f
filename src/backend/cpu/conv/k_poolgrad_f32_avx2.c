/* k_poolgrad_f32_avx2.c - gradients of the pools, AVX2. */
#include "backend/cpu/simd/simd_avx2.h"
#include "backend/cpu/conv/poolgrad_body.h"

const as_kernel as_k_poolgrad_f32_avx2 = {
    .name = "poolgrad_f32_avx2",
    .op = "assay.MaxPoolGrad",
    .also = poolgrad_also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "vectors over channels where the output is NHWC",
    .accepts = poolgrad_accepts,
    .run = poolgrad_run,
};

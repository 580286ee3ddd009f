/* k_poolgrad_f32_avx512.c - gradients of the pools, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"
#include "backend/cpu/conv/poolgrad_body.h"

const as_kernel as_k_poolgrad_f32_avx512 = {
    .name = "poolgrad_f32_avx512",
    .op = "assay.MaxPoolGrad",
    .also = poolgrad_also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "vectors over channels where the output is NHWC",
    .accepts = poolgrad_accepts,
    .run = poolgrad_run,
};

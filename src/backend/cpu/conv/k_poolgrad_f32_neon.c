/* k_poolgrad_f32_neon.c - gradients of the pools, arm64. */
#include "backend/cpu/simd/simd_neon.h"
#include "backend/cpu/conv/poolgrad_body.h"

const as_kernel as_k_poolgrad_f32_neon = {
    .name = "poolgrad_f32_neon",
    .op = "assay.MaxPoolGrad",
    .also = poolgrad_also,
    .isa = AS_ISA_NEON,
    .rank = 30,
    .why = "vectors over channels where the output is NHWC",
    .accepts = poolgrad_accepts,
    .run = poolgrad_run,
};

/* k_poolgrad_f32_wide.c - gradients of the pools, vectors in the compiler's own terms. */
#include "backend/cpu/simd/simd_plain.h"
#include "backend/cpu/conv/poolgrad_body.h"

const as_kernel as_k_poolgrad_f32_wide = {
    .name = "poolgrad_f32_wide",
    .op = "assay.MaxPoolGrad",
    .also = poolgrad_also,
    .isa = AS_ISA_SCALAR,
    .rank = 20,
    .why = "vectors over channels where the output is NHWC",
    .accepts = poolgrad_accepts,
    .run = poolgrad_run,
};

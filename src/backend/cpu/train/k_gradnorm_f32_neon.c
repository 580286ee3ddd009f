/* k_gradnorm_f32_neon.c - the norm of a block, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/train/gradnorm_body.h"

const as_kernel as_k_gradnorm_f32_neon = {
    .name = "gradnorm_f32_neon",
    .op = "assay.GradNorm",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "shards of a fixed size, squares added in double, vectors of four",
    .accepts = as_kernel_f32_only,
    .run = run,
    .scratch_bytes = scratch_bytes,
    .shares = n_shards,
    .finish = finish,
};

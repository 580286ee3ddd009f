/* k_gradnorm_f32_avx2.c - the norm of a block, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/train/gradnorm_body.h"

const as_kernel as_k_gradnorm_f32_avx2 = {
    .name = "gradnorm_f32_avx2",
    .op = "assay.GradNorm",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "shards of a fixed size, squares added in double, vectors of eight",
    .accepts = as_kernel_f32_only,
    .run = run,
    .scratch_bytes = scratch_bytes,
    .shares = n_shards,
    .finish = finish,
};

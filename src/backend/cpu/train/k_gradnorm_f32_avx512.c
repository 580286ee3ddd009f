/* k_gradnorm_f32_avx512.c - the norm of a block, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/train/gradnorm_body.h"

const as_kernel as_k_gradnorm_f32_avx512 = {
    .name = "gradnorm_f32_avx512",
    .op = "assay.GradNorm",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "shards of a fixed size, squares added in double, vectors of sixteen",
    .accepts = as_kernel_f32_only,
    .run = run,
    .scratch_bytes = scratch_bytes,
    .shares = n_shards,
    .finish = finish,
};

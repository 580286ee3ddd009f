/* k_gradnorm_f32_scalar.c - the norm of a block, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/train/gradnorm_body.h"

const as_kernel as_k_gradnorm_f32_scalar = {
    .name = "gradnorm_f32_scalar",
    .op = "assay.GradNorm",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "shards of a fixed size, squares added in double, the compiler's vectors",
    .accepts = as_kernel_f32_only,
    .run = run,
    .scratch_bytes = scratch_bytes,
    .shares = n_shards,
    .finish = finish,
};

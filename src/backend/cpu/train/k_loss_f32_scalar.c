/* k_loss_f32_scalar.c - the mean of a loss over elements, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/train/loss_body.h"

const as_kernel as_k_loss_f32_scalar = {
    .name = "loss_f32_scalar",
    .op = "assay.MseLoss",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "shards of a fixed size, added in double, the compiler's vectors",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
    .scratch_bytes = scratch_bytes,
    .shares = n_shards,
    .finish = finish,
};

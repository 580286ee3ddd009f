/* k_loss_f32_neon.c - the mean of a loss over elements, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/train/loss_body.h"

const as_kernel as_k_loss_f32_neon = {
    .name = "loss_f32_neon",
    .op = "assay.MseLoss",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "shards of a fixed size, added in double, vectors of four",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
    .scratch_bytes = scratch_bytes,
    .shares = n_shards,
    .finish = finish,
};

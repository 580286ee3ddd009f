/* k_loss_f32_avx512.c - the mean of a loss over elements, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/train/loss_body.h"

const as_kernel as_k_loss_f32_avx512 = {
    .name = "loss_f32_avx512",
    .op = "assay.MseLoss",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "shards of a fixed size, added in double, vectors of sixteen",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
    .scratch_bytes = scratch_bytes,
    .shares = n_shards,
    .finish = finish,
};

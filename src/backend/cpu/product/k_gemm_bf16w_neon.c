/* k_gemm_bf16w_neon.c - products of f32 with weights stored as bf16, with NEON; sums are f32. */
#include "backend/cpu/simd/simd_neon.h"

#define TILE_BF16
#include "backend/cpu/product/gemm_body.h"

const as_kernel as_k_gemm_bf16w_neon = {
    .name = "gemm_bf16w_neon",
    .op = "assay.FusedGemm",
    .isa = AS_ISA_NEON,
    .rank = 30,
    .why = "6x16 tiles in registers on panels of weights packed as bf16, converted to f32 when loaded",
    .accepts = gemm_accepts,
    .scratch_bytes = gemm_scratch_bytes,
    .issued = gemm_issued,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .packed_alone = true,
    .run = gemm_run,
};

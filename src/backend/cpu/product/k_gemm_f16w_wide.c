/* k_gemm_f16w_wide.c - products of f32 with weights stored as f16, in plain C; sums are f32. */
#include "backend/cpu/simd/simd_plain.h"

#define TILE_F16
#include "backend/cpu/product/gemm_body.h"

const as_kernel as_k_gemm_f16w_wide = {
    .name = "gemm_f16w_wide",
    .op = "assay.FusedGemm",
    .isa = AS_ISA_SCALAR,
    .rank = 15,
    .why = "plain C, 6x8 tiles on panels of weights packed as f16, converted to f32 when loaded",
    .accepts = gemm_accepts,
    .scratch_bytes = gemm_scratch_bytes,
    .issued = gemm_issued,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .packed_alone = true,
    .run = gemm_run,
};

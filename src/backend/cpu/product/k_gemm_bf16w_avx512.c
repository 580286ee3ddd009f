/* k_gemm_bf16w_avx512.c - products of f32 with weights stored as bf16, vectors of sixteen; sums are f32. */
#include "backend/cpu/simd/simd_avx512.h"

#define TILE_BF16
#include "backend/cpu/product/gemm_body.h"

const as_kernel as_k_gemm_bf16w_avx512 = {
    .name = "gemm_bf16w_avx512",
    .op = "assay.FusedGemm",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "12x32 tiles in registers on panels of weights packed as bf16, converted to f32 when loaded",
    .accepts = gemm_accepts,
    .scratch_bytes = gemm_scratch_bytes,
    .issued = gemm_issued,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .packed_alone = true,
    .run = gemm_run,
};

/* k_gemm_bf16w_avx2.c - products of f32 with weights stored as bf16, with AVX2 and FMA; sums are f32. */
#include "backend/cpu/simd/simd_avx2.h"

#define TILE_BF16
#include "backend/cpu/product/gemm_body.h"

const as_kernel as_k_gemm_bf16w_avx2 = {
    .name = "gemm_bf16w_avx2",
    .op = "assay.FusedGemm",
    .isa = AS_ISA_AVX2,
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

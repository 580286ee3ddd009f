/* k_gemm_f32_neon.c - products on packed panels with NEON. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/product/gemm_body.h"

static const char *const also[] = {"Gemm", "MatMul", "assay.FusedMatMul", NULL};

const as_kernel as_k_gemm_f32_neon = {
    .name = "gemm_f32_neon",
    .op = "assay.FusedGemm",
    .also = also,
    .isa = AS_ISA_NEON,
    .rank = 30,
    .why = "6x16 tiles in registers on panels of packed weights, bias and activation applied to the result",
    .accepts = gemm_accepts,
    .scratch_bytes = gemm_scratch_bytes,
    .issued = gemm_issued,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .packed_alone = true,
    .reads_in_place = gemm_reads_in_place,
    .run = gemm_run,
};

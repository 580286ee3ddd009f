/* k_gemm_f32_wide.c - products on packed panels in plain C, with the compiler's vectors of four. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/product/gemm_body.h"

static const char *const also[] = {"Gemm", "MatMul", "assay.FusedMatMul", NULL};

const as_kernel as_k_gemm_f32_wide = {
    .name = "gemm_f32_wide",
    .op = "assay.FusedGemm",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 15,
    .why = "plain C, 6x8 tiles on panels of packed weights, bias and activation applied to the result",
    .accepts = gemm_accepts,
    .scratch_bytes = gemm_scratch_bytes,
    .issued = gemm_issued,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .packed_alone = true,
    .reads_in_place = gemm_reads_in_place,
    .run = gemm_run,
};

/* k_gemm_f32_avx512.c - products on packed panels, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/product/gemm_body.h"

static const char *const also[] = {"Gemm", "MatMul", "assay.FusedMatMul", NULL};

const as_kernel as_k_gemm_f32_avx512 = {
    .name = "gemm_f32_avx512",
    .op = "assay.FusedGemm",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "12x32 tiles in registers on panels of packed weights, bias and activation applied to the result",
    .accepts = gemm_accepts,
    .scratch_bytes = gemm_scratch_bytes,
    .issued = gemm_issued,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .packed_alone = true,
    .reads_in_place = gemm_reads_in_place,
    .run = gemm_run,
};

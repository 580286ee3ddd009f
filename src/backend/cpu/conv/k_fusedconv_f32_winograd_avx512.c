/* k_fusedconv_f32_winograd_avx512.c - 3x3 convolution by Winograd's F(4x4, 3x3), vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"
#include "backend/cpu/conv/winograd_body.h"

const as_kernel as_k_fusedconv_f32_winograd_avx512 = {
    .name = "fusedconv_f32_winograd_avx512",
    .op = "assay.FusedConv",
    .also = wino_also,
    .isa = AS_SIMD_ISA,
    .rank = 45,
    .cost = wino_cost,
    .why = "Winograd F(4,3): less exact",
    .in_place = 1u << 2 | 1u << 3,
    .accepts = wino_accepts,
    .scratch_bytes = wino_scratch_bytes,
    .issued = wino_issued,
    .packed_bytes = wino_packed_bytes,
    .pack = wino_pack,
    .packed_alone = true,
    .run = wino_run,
};

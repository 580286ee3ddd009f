/* k_fusedconv_f32_avx2.c - direct convolution, AVX2 with FMA. */
#include "backend/cpu/simd/simd_avx2.h"
#include "backend/cpu/conv/conv_body.h"

const as_kernel as_k_fusedconv_f32_avx2 = {
    .name = "fusedconv_f32_avx2",
    .op = "assay.FusedConv",
    .also = conv_also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .cost = conv_cost,
    .why = "direct, packed tiles of 6 pixels by 16 channels",
    .in_place = 1u << 3,
    .accepts = conv_accepts,
    .scratch_bytes = conv_scratch_bytes,
    .issued = as_conv_issued,
    .packed_bytes = conv_packed_bytes,
    .pack = conv_pack,
    .packed_alone = true,
    .run = conv_run,
};

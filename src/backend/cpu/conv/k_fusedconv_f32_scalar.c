/* k_fusedconv_f32_scalar.c - direct convolution, vectors in the compiler's own terms. */
#include "backend/cpu/simd/simd_plain.h"
#include "backend/cpu/conv/conv_body.h"

const as_kernel as_k_fusedconv_f32_scalar = {
    .name = "fusedconv_f32_scalar",
    .op = "assay.FusedConv",
    .also = conv_also,
    .isa = AS_ISA_SCALAR,
    .rank = 20,
    .cost = conv_cost,
    .why = "direct, packed tiles of 3 pixels by 16 channels",
    .in_place = 1u << 3,
    .accepts = conv_accepts,
    .scratch_bytes = conv_scratch_bytes,
    .issued = as_conv_issued,
    .packed_bytes = conv_packed_bytes,
    .pack = conv_pack,
    .packed_alone = true,
    .run = conv_run,
};

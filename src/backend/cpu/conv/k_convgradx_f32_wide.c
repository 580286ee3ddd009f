/* k_convgradx_f32_wide.c - gradient of Conv for X and ConvTranspose, vectors in the compiler's own terms. */
#include "backend/cpu/simd/simd_plain.h"
#include "backend/cpu/conv/convgradx_body.h"

const as_kernel as_k_convgradx_f32_wide = {
    .name = "convgradx_f32_wide",
    .op = "assay.ConvGradX",
    .also = gradx_also,
    .isa = AS_ISA_SCALAR,
    .rank = 20,
    .why = "a convolution for each phase of the stride, packed tiles of 3 pixels by 16 channels",
    .in_place = 1u << 2,
    .accepts = gradx_accepts,
    .scratch_bytes = gradx_scratch_bytes,
    .packed_bytes = gradx_packed_bytes,
    .pack = gradx_pack,
    .packed_alone = true,
    .run = gradx_run,
};

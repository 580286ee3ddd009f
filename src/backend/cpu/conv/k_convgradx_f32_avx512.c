/* k_convgradx_f32_avx512.c - gradient of Conv for X and ConvTranspose, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"
#include "backend/cpu/conv/convgradx_body.h"

const as_kernel as_k_convgradx_f32_avx512 = {
    .name = "convgradx_f32_avx512",
    .op = "assay.ConvGradX",
    .also = gradx_also,
    .isa = AS_SIMD_ISA,
    .rank = 35,
    .why = "a convolution for each phase of the stride, packed tiles of 6 pixels by 32 channels",
    .in_place = 1u << 2,
    .accepts = gradx_accepts,
    .scratch_bytes = gradx_scratch_bytes,
    .packed_bytes = gradx_packed_bytes,
    .pack = gradx_pack,
    .packed_alone = true,
    .run = gradx_run,
};

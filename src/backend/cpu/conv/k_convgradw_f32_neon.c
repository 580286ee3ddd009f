/* k_convgradw_f32_neon.c - gradient of Conv for W, arm64. */
#include "backend/cpu/simd/simd_neon.h"
#include "backend/cpu/conv/convgradw_body.h"

const as_kernel as_k_convgradw_f32_neon = {
    .name = "convgradw_f32_neon",
    .op = "assay.ConvGradW",
    .isa = AS_ISA_NEON,
    .rank = 30,
    .why = "sums over positions in tiles of 6 weights by 16 channels",
    .accepts = gradw_accepts,
    .scratch_bytes = gradw_scratch_bytes,
    .run = gradw_run,
    .finish = gradw_finish,
};

/* k_convgradw_f32_avx512.c - gradient of Conv for W, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"
#include "backend/cpu/conv/convgradw_body.h"

const as_kernel as_k_convgradw_f32_avx512 = {
    .name = "convgradw_f32_avx512",
    .op = "assay.ConvGradW",
    .isa = AS_SIMD_ISA,
    .rank = 35,
    .why = "sums over positions in tiles of 12 weights by 32 channels",
    .accepts = gradw_accepts,
    .scratch_bytes = gradw_scratch_bytes,
    .run = gradw_run,
    .finish = gradw_finish,
};

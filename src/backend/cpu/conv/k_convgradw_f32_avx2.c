/* k_convgradw_f32_avx2.c - gradient of Conv for W, AVX2 with FMA. */
#include "backend/cpu/simd/simd_avx2.h"
#include "backend/cpu/conv/convgradw_body.h"

const as_kernel as_k_convgradw_f32_avx2 = {
    .name = "convgradw_f32_avx2",
    .op = "assay.ConvGradW",
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "sums over positions in tiles of 6 weights by 16 channels",
    .accepts = gradw_accepts,
    .scratch_bytes = gradw_scratch_bytes,
    .run = gradw_run,
    .finish = gradw_finish,
};

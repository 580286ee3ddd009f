/* k_convgradw_f32_wide.c - gradient of Conv for W, vectors in the compiler's own terms. */
#include "backend/cpu/simd/simd_plain.h"
#include "backend/cpu/conv/convgradw_body.h"

const as_kernel as_k_convgradw_f32_wide = {
    .name = "convgradw_f32_wide",
    .op = "assay.ConvGradW",
    .isa = AS_ISA_SCALAR,
    .rank = 20,
    .why = "sums over positions in tiles of 3 weights by 16 channels",
    .accepts = gradw_accepts,
    .scratch_bytes = gradw_scratch_bytes,
    .run = gradw_run,
    .finish = gradw_finish,
};

/* k_ltcgrad_f32_avx2.c - the gradient of liquid time constants by synapse lists, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/cell/ltcgrad_body.h"

const as_kernel as_k_ltcgrad_f32_avx2 = {
    .name = "ltcgrad_f32_avx2",
    .op = "assay.LTCGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "synapse lists, one sweep back, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

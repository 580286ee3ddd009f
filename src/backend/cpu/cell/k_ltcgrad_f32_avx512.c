/* k_ltcgrad_f32_avx512.c - the gradient of liquid time constants by synapse lists, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/cell/ltcgrad_body.h"

const as_kernel as_k_ltcgrad_f32_avx512 = {
    .name = "ltcgrad_f32_avx512",
    .op = "assay.LTCGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "synapse lists, one sweep back, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

/* k_ltcgrad_f32_neon.c - the gradient of liquid time constants by synapse lists, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/cell/ltcgrad_body.h"

const as_kernel as_k_ltcgrad_f32_neon = {
    .name = "ltcgrad_f32_neon",
    .op = "assay.LTCGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "synapse lists, one sweep back, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

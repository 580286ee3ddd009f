/* k_ltcgrad_f32_scalar.c - the gradient of liquid time constants by synapse lists, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/cell/ltcgrad_body.h"

const as_kernel as_k_ltcgrad_f32_scalar = {
    .name = "ltcgrad_f32_scalar",
    .op = "assay.LTCGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "synapse lists, one sweep back, the compiler's vectors",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

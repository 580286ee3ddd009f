/* k_cfcgrad_f32_scalar.c - the gradient of closed-form continuous-time cells through time, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/cell/cfcgrad_body.h"

const as_kernel as_k_cfcgrad_f32_scalar = {
    .name = "cfcgrad_f32_scalar",
    .op = "assay.CfCGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "one sweep back, the gradients of weights as products of long lines after it, the compiler's vectors",
    .accepts = cfcgrad_accepts,
    .scratch_bytes = cfcgrad_scratch_bytes,
    .run = cfcgrad_run,
    .finish = cfcgrad_finish,
};

/* k_cfcgrad_f32_neon.c - the gradient of closed-form continuous-time cells through time, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/cell/cfcgrad_body.h"

const as_kernel as_k_cfcgrad_f32_neon = {
    .name = "cfcgrad_f32_neon",
    .op = "assay.CfCGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one sweep back, the gradients of weights as products of long lines after it, vectors of four",
    .accepts = cfcgrad_accepts,
    .scratch_bytes = cfcgrad_scratch_bytes,
    .run = cfcgrad_run,
    .finish = cfcgrad_finish,
};

/* k_cfcgrad_f32_avx512.c - the gradient of closed-form continuous-time cells through time, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/cell/cfcgrad_body.h"

const as_kernel as_k_cfcgrad_f32_avx512 = {
    .name = "cfcgrad_f32_avx512",
    .op = "assay.CfCGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "one sweep back, the gradients of weights as products of long lines after it, vectors of sixteen",
    .accepts = cfcgrad_accepts,
    .scratch_bytes = cfcgrad_scratch_bytes,
    .run = cfcgrad_run,
    .finish = cfcgrad_finish,
};

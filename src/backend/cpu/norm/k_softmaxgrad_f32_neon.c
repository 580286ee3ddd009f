/* k_softmaxgrad_f32_neon.c - gradient of a softmax by its result, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/softmaxgrad_body.h"

const as_kernel as_k_softmaxgrad_f32_neon = {
    .name = "softmaxgrad_f32_neon",
    .op = "assay.SoftmaxGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "line by line, vectors of four",
    .in_place = 3,
    .accepts = as_kernel_f32_only,
    .run = run,
};

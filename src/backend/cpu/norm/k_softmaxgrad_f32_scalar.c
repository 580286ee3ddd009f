/* k_softmaxgrad_f32_scalar.c - gradient of a softmax by its result, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/softmaxgrad_body.h"

const as_kernel as_k_softmaxgrad_f32_scalar = {
    .name = "softmaxgrad_f32_scalar",
    .op = "assay.SoftmaxGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "line by line, the compiler's vectors",
    .in_place = 3,
    .accepts = as_kernel_f32_only,
    .run = run,
};

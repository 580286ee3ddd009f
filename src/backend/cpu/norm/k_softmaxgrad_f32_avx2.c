/* k_softmaxgrad_f32_avx2.c - gradient of a softmax by its result, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/softmaxgrad_body.h"

const as_kernel as_k_softmaxgrad_f32_avx2 = {
    .name = "softmaxgrad_f32_avx2",
    .op = "assay.SoftmaxGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "line by line, vectors of eight",
    .in_place = 3,
    .accepts = as_kernel_f32_only,
    .run = run,
};

/* k_softmaxgrad_f32_avx512.c - gradient of a softmax by its result, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/softmaxgrad_body.h"

const as_kernel as_k_softmaxgrad_f32_avx512 = {
    .name = "softmaxgrad_f32_avx512",
    .op = "assay.SoftmaxGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "line by line, vectors of sixteen",
    .in_place = 3,
    .accepts = as_kernel_f32_only,
    .run = run,
};

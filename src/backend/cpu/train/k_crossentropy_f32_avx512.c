/* k_crossentropy_f32_avx512.c - softmax and cross-entropy with integer labels, or their gradient, in one, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/train/crossentropy_body.h"

const as_kernel as_k_crossentropy_f32_avx512 = {
    .name = "crossentropy_f32_avx512",
    .op = "SoftmaxCrossEntropyLoss",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "a line at a time, vectors of sixteen",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
};

/* k_crossentropy_f32_avx2.c - softmax and cross-entropy with integer labels, or their gradient, in one, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/train/crossentropy_body.h"

const as_kernel as_k_crossentropy_f32_avx2 = {
    .name = "crossentropy_f32_avx2",
    .op = "SoftmaxCrossEntropyLoss",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "a line at a time, vectors of eight",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
};

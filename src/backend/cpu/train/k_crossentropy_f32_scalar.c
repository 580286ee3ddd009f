/* k_crossentropy_f32_scalar.c - softmax and cross-entropy with integer labels, or their gradient, in one, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/train/crossentropy_body.h"

const as_kernel as_k_crossentropy_f32_scalar = {
    .name = "crossentropy_f32_scalar",
    .op = "SoftmaxCrossEntropyLoss",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "a line at a time, the compiler's vectors",
    .accepts = as_kernel_f32_only,
    .run = run,
    .also = also,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
};

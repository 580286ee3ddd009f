/* k_softmax_f32_scalar.c - exp(x - max) over its sum along one axis, or its logarithm, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/softmax_body.h"

const as_kernel as_k_softmax_f32_scalar = {
    .name = "softmax_f32_scalar",
    .op = "Softmax",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "a line at a time, the compiler's vectors",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

/* k_softmax_f32_neon.c - exp(x - max) over its sum along one axis, or its logarithm, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/softmax_body.h"

const as_kernel as_k_softmax_f32_neon = {
    .name = "softmax_f32_neon",
    .op = "Softmax",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "a line at a time, vectors of four",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

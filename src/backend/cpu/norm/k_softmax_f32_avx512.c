/* k_softmax_f32_avx512.c - exp(x - max) over its sum along one axis, or its logarithm, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/softmax_body.h"

const as_kernel as_k_softmax_f32_avx512 = {
    .name = "softmax_f32_avx512",
    .op = "Softmax",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "a line at a time, vectors of sixteen",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

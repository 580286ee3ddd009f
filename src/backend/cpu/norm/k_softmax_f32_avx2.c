/* k_softmax_f32_avx2.c - exp(x - max) over its sum along one axis, or its logarithm, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/softmax_body.h"

const as_kernel as_k_softmax_f32_avx2 = {
    .name = "softmax_f32_avx2",
    .op = "Softmax",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "a line at a time, vectors of eight",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

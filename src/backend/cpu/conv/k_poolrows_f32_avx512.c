/* k_poolrows_f32_avx512.c - pools of row-major planes, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/conv/poolrows_body.h"

const as_kernel as_k_poolrows_f32_avx512 = {
    .name = "poolrows_f32_avx512",
    .op = "MaxPool",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 42,
    .why = "row-major planes, row by row, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

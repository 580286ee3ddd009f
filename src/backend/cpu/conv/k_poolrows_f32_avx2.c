/* k_poolrows_f32_avx2.c - pools of row-major planes, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/conv/poolrows_body.h"

const as_kernel as_k_poolrows_f32_avx2 = {
    .name = "poolrows_f32_avx2",
    .op = "MaxPool",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 32,
    .why = "row-major planes, row by row, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

/* k_poolrows_f32_scalar.c - pools of row-major planes, vectors of four. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/conv/poolrows_body.h"

const as_kernel as_k_poolrows_f32_scalar = {
    .name = "poolrows_f32_scalar",
    .op = "MaxPool",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "row-major planes, row by row, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

/* k_transpose_f32_neon.c - axes in another order, transposed in registers, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/move/transpose_body.h"

const as_kernel as_k_transpose_f32_neon = {
    .name = "transpose_f32_neon",
    .op = "Transpose",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "blocks turned in registers, vectors of four",
    .also = also,
    .accepts = accepts,
    .run = run,
};

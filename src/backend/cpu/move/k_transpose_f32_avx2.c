/* k_transpose_f32_avx2.c - axes in another order, transposed in registers, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/move/transpose_body.h"

const as_kernel as_k_transpose_f32_avx2 = {
    .name = "transpose_f32_avx2",
    .op = "Transpose",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "blocks turned in registers, vectors of eight",
    .also = also,
    .accepts = accepts,
    .run = run,
};

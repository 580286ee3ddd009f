/* k_transpose_f32_scalar.c - axes in another order, transposed in registers, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/move/transpose_body.h"

const as_kernel as_k_transpose_f32_scalar = {
    .name = "transpose_f32_scalar",
    .op = "Transpose",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "blocks turned in registers, the compiler's vectors",
    .also = also,
    .accepts = accepts,
    .run = run,
};

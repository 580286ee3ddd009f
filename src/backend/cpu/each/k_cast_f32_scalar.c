/* k_cast_f32_scalar.c - f32 from and to f16, bf16, i8, i32, i64 and bool, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/each/cast_body.h"

const as_kernel as_k_cast_f32_scalar = {
    .name = "cast_f32_scalar",
    .op = "Cast",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "runs of values, the compiler's vectors",
    .also = also,
    .accepts = accepts,
    .run = run,
};

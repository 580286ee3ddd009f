/* k_cast_f32_neon.c - f32 from and to f16, bf16, i8, i32, i64 and bool, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/each/cast_body.h"

const as_kernel as_k_cast_f32_neon = {
    .name = "cast_f32_neon",
    .op = "Cast",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "runs of values, vectors of four",
    .also = also,
    .accepts = accepts,
    .run = run,
};

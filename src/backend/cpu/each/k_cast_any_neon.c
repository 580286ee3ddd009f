/* k_cast_any_neon.c - Cast and CastLike between all numbers and bool, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/each/cast_body.h"

const as_kernel as_k_cast_any_neon = {
    .name = "cast_any_neon",
    .op = "Cast",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "runs of values, vectors of four",
    .also = also,
    .accepts = accepts,
    .run = run,
};

/* k_cast_any_scalar.c - Cast and CastLike between all numbers and bool, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/each/cast_body.h"

const as_kernel as_k_cast_any_scalar = {
    .name = "cast_any_scalar",
    .op = "Cast",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "runs of values, the compiler's vectors",
    .also = also,
    .accepts = accepts,
    .run = run,
};

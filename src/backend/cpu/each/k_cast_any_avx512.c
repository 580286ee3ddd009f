/* k_cast_any_avx512.c - Cast and CastLike between all numbers and bool, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/each/cast_body.h"

const as_kernel as_k_cast_any_avx512 = {
    .name = "cast_any_avx512",
    .op = "Cast",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "runs of values, vectors of sixteen",
    .also = also,
    .accepts = accepts,
    .run = run,
};

/* k_cast_any_avx2.c - Cast and CastLike between all numbers and bool, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/each/cast_body.h"

const as_kernel as_k_cast_any_avx2 = {
    .name = "cast_any_avx2",
    .op = "Cast",
    .isa = AS_SIMD_ISA | AS_ISA_F16C,
    .rank = 30,
    .why = "runs of values, vectors of eight",
    .also = also,
    .accepts = accepts,
    .run = run,
};

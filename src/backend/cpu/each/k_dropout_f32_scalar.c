/* k_dropout_f32_scalar.c - elements dropped at random, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/each/dropout_body.h"

const as_kernel as_k_dropout_f32_scalar = {
    .name = "dropout_f32_scalar",
    .op = "Dropout",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "Philox, four elements per counter, the compiler's vectors",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

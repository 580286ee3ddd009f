/* k_dropout_f32_neon.c - elements dropped at random, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/each/dropout_body.h"

const as_kernel as_k_dropout_f32_neon = {
    .name = "dropout_f32_neon",
    .op = "Dropout",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "Philox, four elements per counter, vectors of four",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

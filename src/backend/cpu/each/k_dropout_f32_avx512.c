/* k_dropout_f32_avx512.c - elements dropped at random, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/each/dropout_body.h"

const as_kernel as_k_dropout_f32_avx512 = {
    .name = "dropout_f32_avx512",
    .op = "Dropout",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "Philox, four elements per counter, vectors of sixteen",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

/* k_dropout_f32_avx2.c - elements dropped at random, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/each/dropout_body.h"

const as_kernel as_k_dropout_f32_avx2 = {
    .name = "dropout_f32_avx2",
    .op = "Dropout",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "Philox, four elements per counter, vectors of eight",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

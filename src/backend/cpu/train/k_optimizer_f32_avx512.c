/* k_optimizer_f32_avx512.c - a step of an optimiser over a block of parameters in one pass, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/train/optimizer_body.h"

const as_kernel as_k_optimizer_f32_avx512 = {
    .name = "optimizer_f32_avx512",
    .op = "assay.Adam",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "one pass over parameters, gradient and states, vectors of sixteen",
    .in_place_of = IN_PLACE_OF,
    .accepts = accepts,
    .run = run,
    .shares = shares,
    .finish = finish,
};

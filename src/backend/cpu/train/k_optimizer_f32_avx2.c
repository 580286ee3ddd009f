/* k_optimizer_f32_avx2.c - a step of an optimiser over a block of parameters in one pass, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/train/optimizer_body.h"

const as_kernel as_k_optimizer_f32_avx2 = {
    .name = "optimizer_f32_avx2",
    .op = "assay.Adam",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass over parameters, gradient and states, vectors of eight",
    .in_place_of = IN_PLACE_OF,
    .accepts = accepts,
    .run = run,
    .shares = shares,
    .finish = finish,
};

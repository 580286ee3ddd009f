/* k_optimizer_f32_neon.c - a step of an optimiser over a block of parameters in one pass, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/train/optimizer_body.h"

const as_kernel as_k_optimizer_f32_neon = {
    .name = "optimizer_f32_neon",
    .op = "assay.Adam",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass over parameters, gradient and states, vectors of four",
    .in_place_of = IN_PLACE_OF,
    .accepts = accepts,
    .run = run,
    .shares = shares,
    .finish = finish,
};

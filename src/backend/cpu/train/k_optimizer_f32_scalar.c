/* k_optimizer_f32_scalar.c - a step of an optimiser over a block of parameters in one pass, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/train/optimizer_body.h"

const as_kernel as_k_optimizer_f32_scalar = {
    .name = "optimizer_f32_scalar",
    .op = "assay.Adam",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "one pass over parameters, gradient and states, the compiler's vectors",
    .in_place_of = IN_PLACE_OF,
    .accepts = accepts,
    .run = run,
    .shares = shares,
    .finish = finish,
};

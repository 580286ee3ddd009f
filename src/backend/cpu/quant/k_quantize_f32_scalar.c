/* k_quantize_f32_scalar.c - x / scale, rounded to even and saturated, vectors of four. */
#include "backend/cpu/quant/q_plain.h"

#include "backend/cpu/quant/quantize_body.h"

const as_kernel as_k_quantize_f32_scalar = {
    .name = "quantize_f32_scalar",
    .op = "QuantizeLinear",
    .isa = Q_ISA,
    .rank = 12,
    .why = "the quotient rounded by an addition, vectors of four",
    .accepts = accepts,
    .run = run,
};

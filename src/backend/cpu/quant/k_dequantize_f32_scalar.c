/* k_dequantize_f32_scalar.c - (x - zero point) * scale, vectors of four. */
#include "backend/cpu/quant/q_plain.h"

#include "backend/cpu/quant/dequantize_body.h"

const as_kernel as_k_dequantize_f32_scalar = {
    .name = "dequantize_f32_scalar",
    .op = "DequantizeLinear",
    .isa = Q_ISA,
    .rank = 12,
    .why = "widened and multiplied, vectors of four",
    .accepts = accepts,
    .run = run,
};

/* k_dequantize_f32_neon.c - (x - zero point) * scale, vectors of four. */
#include "backend/cpu/quant/q_neon.h"

#include "backend/cpu/quant/dequantize_body.h"

const as_kernel as_k_dequantize_f32_neon = {
    .name = "dequantize_f32_neon",
    .op = "DequantizeLinear",
    .isa = Q_ISA,
    .rank = 30,
    .why = "widened and multiplied, vectors of four",
    .accepts = accepts,
    .run = run,
};

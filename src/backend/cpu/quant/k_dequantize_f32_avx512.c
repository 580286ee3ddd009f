/* k_dequantize_f32_avx512.c - (x - zero point) * scale, vectors of sixteen. */
#include "backend/cpu/quant/q_avx512.h"

#include "backend/cpu/quant/dequantize_body.h"

const as_kernel as_k_dequantize_f32_avx512 = {
    .name = "dequantize_f32_avx512",
    .op = "DequantizeLinear",
    .isa = Q_ISA,
    .rank = 35,
    .why = "widened and multiplied, vectors of sixteen",
    .accepts = accepts,
    .run = run,
};

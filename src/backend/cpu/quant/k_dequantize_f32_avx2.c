/* k_dequantize_f32_avx2.c - (x - zero point) * scale, vectors of eight. */
#include "backend/cpu/quant/q_avx2.h"

#include "backend/cpu/quant/dequantize_body.h"

const as_kernel as_k_dequantize_f32_avx2 = {
    .name = "dequantize_f32_avx2",
    .op = "DequantizeLinear",
    .isa = Q_ISA,
    .rank = 30,
    .why = "widened and multiplied, vectors of eight",
    .accepts = accepts,
    .run = run,
};

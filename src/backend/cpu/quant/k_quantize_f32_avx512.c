/* k_quantize_f32_avx512.c - x / scale, rounded to even and saturated, vectors of sixteen. */
#include "backend/cpu/quant/q_avx512.h"

#include "backend/cpu/quant/quantize_body.h"

const as_kernel as_k_quantize_f32_avx512 = {
    .name = "quantize_f32_avx512",
    .op = "QuantizeLinear",
    .isa = Q_ISA,
    .rank = 35,
    .why = "the quotient rounded by an addition, vectors of sixteen",
    .accepts = accepts,
    .run = run,
};

/* k_quantize_f32_avx2.c - x / scale, rounded to even and saturated, vectors of eight. */
#include "backend/cpu/quant/q_avx2.h"

#include "backend/cpu/quant/quantize_body.h"

const as_kernel as_k_quantize_f32_avx2 = {
    .name = "quantize_f32_avx2",
    .op = "QuantizeLinear",
    .isa = Q_ISA,
    .rank = 30,
    .why = "the quotient rounded by an addition, vectors of eight",
    .accepts = accepts,
    .run = run,
};

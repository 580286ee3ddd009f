/* k_dynamicquantize_f32_avx512.c - the range of x, and x in 255 steps of it, vectors of sixteen. */
#include "backend/cpu/quant/q_avx512.h"

#include "backend/cpu/quant/dynamic_body.h"

const as_kernel as_k_dynamicquantize_f32_avx512 = {
    .name = "dynamicquantize_f32_avx512",
    .op = "DynamicQuantizeLinear",
    .isa = Q_ISA,
    .rank = 35,
    .why = "two passes, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

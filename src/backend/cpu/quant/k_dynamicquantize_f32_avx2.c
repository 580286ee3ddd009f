/* k_dynamicquantize_f32_avx2.c - the range of x, and x in 255 steps of it, vectors of eight. */
#include "backend/cpu/quant/q_avx2.h"

#include "backend/cpu/quant/dynamic_body.h"

const as_kernel as_k_dynamicquantize_f32_avx2 = {
    .name = "dynamicquantize_f32_avx2",
    .op = "DynamicQuantizeLinear",
    .isa = Q_ISA,
    .rank = 30,
    .why = "two passes, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

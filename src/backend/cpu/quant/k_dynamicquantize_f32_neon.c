/* k_dynamicquantize_f32_neon.c - the range of x, and x in 255 steps of it, vectors of four. */
#include "backend/cpu/quant/q_neon.h"

#include "backend/cpu/quant/dynamic_body.h"

const as_kernel as_k_dynamicquantize_f32_neon = {
    .name = "dynamicquantize_f32_neon",
    .op = "DynamicQuantizeLinear",
    .isa = Q_ISA,
    .rank = 30,
    .why = "two passes, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

/* k_dynamicquantize_f32_scalar.c - the range of x, and x in 255 steps of it, vectors of four. */
#include "backend/cpu/quant/q_plain.h"

#include "backend/cpu/quant/dynamic_body.h"

const as_kernel as_k_dynamicquantize_f32_scalar = {
    .name = "dynamicquantize_f32_scalar",
    .op = "DynamicQuantizeLinear",
    .isa = Q_ISA,
    .rank = 12,
    .why = "two passes, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .finish = finish,
};

/* k_resize_f32_scalar.c - Resize by linear and cubic filters, vectors of four. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/move/resize_body.h"

const as_kernel as_k_resize_f32_scalar = {
    .name = "resize_f32_scalar",
    .op = "Resize",
    .isa = AS_SIMD_ISA,
    .rank = 10,
    .why = "axis by axis in slabs, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

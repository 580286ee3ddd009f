/* k_resize_f32_neon.c - Resize by linear and cubic filters, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/move/resize_body.h"

const as_kernel as_k_resize_f32_neon = {
    .name = "resize_f32_neon",
    .op = "Resize",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "axis by axis in slabs, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

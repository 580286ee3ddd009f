/* k_resize_f32_avx512.c - Resize by linear and cubic filters, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/move/resize_body.h"

const as_kernel as_k_resize_f32_avx512 = {
    .name = "resize_f32_avx512",
    .op = "Resize",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "axis by axis in slabs, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

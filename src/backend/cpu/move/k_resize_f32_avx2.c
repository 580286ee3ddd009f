/* k_resize_f32_avx2.c - Resize by linear and cubic filters, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/move/resize_body.h"

const as_kernel as_k_resize_f32_avx2 = {
    .name = "resize_f32_avx2",
    .op = "Resize",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "axis by axis in slabs, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

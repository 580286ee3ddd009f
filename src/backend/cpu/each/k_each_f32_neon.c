/* k_each_f32_neon.c - element-wise operators and chains of them, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/each/each_body.h"

const as_kernel as_k_each_f32_neon = {
    .name = "each_f32_neon",
    .op = "assay.Chain",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "tiles in L1, vectors of four",
    .in_place = 0xff,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

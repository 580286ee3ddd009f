/* k_each_f32_avx2.c - element-wise operators and chains of them, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/each/each_body.h"

const as_kernel as_k_each_f32_avx2 = {
    .name = "each_f32_avx2",
    .op = "assay.Chain",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "tiles in L1, vectors of eight",
    .in_place = 0xff,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

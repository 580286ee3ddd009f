/* k_each_f32_avx512.c - element-wise operators and chains of them, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/each/each_body.h"

const as_kernel as_k_each_f32_avx512 = {
    .name = "each_f32_avx512",
    .op = "assay.Chain",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "tiles in L1, vectors of sixteen",
    .in_place = 0xff,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

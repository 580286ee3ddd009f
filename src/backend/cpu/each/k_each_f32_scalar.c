/* k_each_f32_scalar.c - element-wise operators and chains of them, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/each/each_body.h"

const as_kernel as_k_each_f32_scalar = {
    .name = "each_f32_scalar",
    .op = "assay.Chain",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "tiles in L1, the compiler's vectors",
    .in_place = 0xff,
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

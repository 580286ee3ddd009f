/* k_ltc_f32_neon.c - liquid time constants over a sequence by synapse lists, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/cell/ltc_body.h"

const as_kernel as_k_ltc_f32_neon = {
    .name = "ltc_f32_neon",
    .op = "assay.LTC",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "synapse lists, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .packed_alone = true,
    .run = run,
    .shares = shares,
};

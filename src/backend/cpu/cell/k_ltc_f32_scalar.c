/* k_ltc_f32_scalar.c - liquid time constants over a sequence by synapse lists, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/cell/ltc_body.h"

const as_kernel as_k_ltc_f32_scalar = {
    .name = "ltc_f32_scalar",
    .op = "assay.LTC",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "synapse lists, the compiler's vectors",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .packed_alone = true,
    .run = run,
    .shares = shares,
};

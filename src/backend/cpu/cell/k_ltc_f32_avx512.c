/* k_ltc_f32_avx512.c - liquid time constants over a sequence by synapse lists, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#define LTC_GATHER(base, index) _mm512_i32gather_ps(_mm512_loadu_si512(index), base, 4)

#include "backend/cpu/cell/ltc_body.h"

const as_kernel as_k_ltc_f32_avx512 = {
    .name = "ltc_f32_avx512",
    .op = "assay.LTC",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "synapse lists, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .packed_alone = true,
    .run = run,
    .shares = shares,
};

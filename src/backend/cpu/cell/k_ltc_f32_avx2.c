/* k_ltc_f32_avx2.c - liquid time constants over a sequence by synapse lists, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#define LTC_GATHER(base, index) _mm256_i32gather_ps(base, _mm256_loadu_si256((const __m256i *)(const void *)(index)), 4)

#include "backend/cpu/cell/ltc_body.h"

const as_kernel as_k_ltc_f32_avx2 = {
    .name = "ltc_f32_avx2",
    .op = "assay.LTC",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "synapse lists, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .packed_alone = true,
    .run = run,
    .shares = shares,
};

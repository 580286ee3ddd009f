/* k_dropoutgrad_f32_avx512.c - a gradient where a mask holds, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/each/dropoutgrad_body.h"

const as_kernel as_k_dropoutgrad_f32_avx512 = {
    .name = "dropoutgrad_f32_avx512",
    .op = "assay.DropoutGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "one pass, vectors of sixteen",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

/* k_dropoutgrad_f32_avx2.c - a gradient where a mask holds, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/each/dropoutgrad_body.h"

const as_kernel as_k_dropoutgrad_f32_avx2 = {
    .name = "dropoutgrad_f32_avx2",
    .op = "assay.DropoutGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass, vectors of eight",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

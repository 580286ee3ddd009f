/* k_dropoutgrad_f32_neon.c - a gradient where a mask holds, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/each/dropoutgrad_body.h"

const as_kernel as_k_dropoutgrad_f32_neon = {
    .name = "dropoutgrad_f32_neon",
    .op = "assay.DropoutGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one pass, vectors of four",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

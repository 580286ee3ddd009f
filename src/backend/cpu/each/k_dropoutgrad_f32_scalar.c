/* k_dropoutgrad_f32_scalar.c - a gradient where a mask holds, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/each/dropoutgrad_body.h"

const as_kernel as_k_dropoutgrad_f32_scalar = {
    .name = "dropoutgrad_f32_scalar",
    .op = "assay.DropoutGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "one pass, the compiler's vectors",
    .in_place = 1,
    .accepts = accepts,
    .run = run,
};

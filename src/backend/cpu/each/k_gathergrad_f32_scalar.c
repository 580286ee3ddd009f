/* k_gathergrad_f32_scalar.c - rows added into a table, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/each/gathergrad_body.h"

const as_kernel as_k_gathergrad_f32_scalar = {
    .name = "gathergrad_f32_scalar",
    .op = "assay.GatherGrad",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "each part adds its own rows of the table, the compiler's vectors",
    .accepts = as_kernel_f32_only,
    .run = run,
};

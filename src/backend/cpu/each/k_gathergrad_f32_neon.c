/* k_gathergrad_f32_neon.c - rows added into a table, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/each/gathergrad_body.h"

const as_kernel as_k_gathergrad_f32_neon = {
    .name = "gathergrad_f32_neon",
    .op = "assay.GatherGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "each part adds its own rows of the table, vectors of four",
    .accepts = as_kernel_f32_only,
    .run = run,
};

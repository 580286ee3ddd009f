/* k_gathergrad_f32_avx2.c - rows added into a table, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/each/gathergrad_body.h"

const as_kernel as_k_gathergrad_f32_avx2 = {
    .name = "gathergrad_f32_avx2",
    .op = "assay.GatherGrad",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "each part adds its own rows of the table, vectors of eight",
    .accepts = as_kernel_f32_only,
    .run = run,
};

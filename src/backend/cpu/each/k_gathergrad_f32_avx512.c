/* k_gathergrad_f32_avx512.c - rows added into a table, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/each/gathergrad_body.h"

const as_kernel as_k_gathergrad_f32_avx512 = {
    .name = "gathergrad_f32_avx512",
    .op = "assay.GatherGrad",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "each part adds its own rows of the table, vectors of sixteen",
    .accepts = as_kernel_f32_only,
    .run = run,
};

/* k_cfc_f32_neon.c - closed-form continuous-time cells over a whole sequence, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/cell/cfc_body.h"

const as_kernel as_k_cfc_f32_neon = {
    .name = "cfc_f32_neon",
    .op = "assay.CfC",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "all steps in one call, the heads of a unit together in registers, vectors of four",
    .accepts = cfc_accepts,
    .scratch_bytes = cfc_scratch_bytes,
    .packed_bytes = cfc_packed_bytes,
    .pack = cfc_pack,
    .packed_alone = true,
    .run = cfc_run,
    .shares = cfc_shares,
};

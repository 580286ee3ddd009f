/* k_cfc_f32_scalar.c - closed-form continuous-time cells over a whole sequence, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/cell/cfc_body.h"

const as_kernel as_k_cfc_f32_scalar = {
    .name = "cfc_f32_scalar",
    .op = "assay.CfC",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "all steps in one call, the heads of a unit together in registers, the compiler's vectors",
    .accepts = cfc_accepts,
    .scratch_bytes = cfc_scratch_bytes,
    .packed_bytes = cfc_packed_bytes,
    .pack = cfc_pack,
    .packed_alone = true,
    .run = cfc_run,
    .shares = cfc_shares,
};

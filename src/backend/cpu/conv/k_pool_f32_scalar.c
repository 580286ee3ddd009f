/* k_pool_f32_scalar.c - the four pools, vectors in the compiler's own terms. */
#include "backend/cpu/simd/simd_plain.h"
#include "backend/cpu/conv/pool_body.h"

const as_kernel as_k_pool_f32_scalar = {
    .name = "pool_f32_scalar",
    .op = "MaxPool",
    .also = pool_also,
    .isa = AS_ISA_SCALAR,
    .rank = 20,
    .why = "vectors over channels where the input is NHWC",
    .accepts = pool_accepts,
    .run = pool_run,
};

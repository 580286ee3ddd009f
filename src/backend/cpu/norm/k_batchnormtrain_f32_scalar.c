/* k_batchnormtrain_f32_scalar.c - channels less the batch's means over its deviations, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/norm/batchnormtrain_body.h"

const as_kernel as_k_batchnormtrain_f32_scalar = {
    .name = "batchnormtrain_f32_scalar",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "statistics of shards that stay in the cache, the compiler's vectors",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

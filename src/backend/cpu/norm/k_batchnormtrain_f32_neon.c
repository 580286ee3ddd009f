/* k_batchnormtrain_f32_neon.c - channels less the batch's means over its deviations, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/norm/batchnormtrain_body.h"

const as_kernel as_k_batchnormtrain_f32_neon = {
    .name = "batchnormtrain_f32_neon",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "statistics of shards that stay in the cache, vectors of four",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

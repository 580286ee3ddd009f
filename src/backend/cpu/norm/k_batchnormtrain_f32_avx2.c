/* k_batchnormtrain_f32_avx2.c - channels less the batch's means over its deviations, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/norm/batchnormtrain_body.h"

const as_kernel as_k_batchnormtrain_f32_avx2 = {
    .name = "batchnormtrain_f32_avx2",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "statistics of shards that stay in the cache, vectors of eight",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

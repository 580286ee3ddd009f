/* k_batchnormtrain_f32_avx512.c - channels less the batch's means over its deviations, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/norm/batchnormtrain_body.h"

const as_kernel as_k_batchnormtrain_f32_avx512 = {
    .name = "batchnormtrain_f32_avx512",
    .op = "BatchNormalization",
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "statistics of shards that stay in the cache, vectors of sixteen",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .finish = finish,
    .run = run,
};

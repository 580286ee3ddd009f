/* k_scatter_any_avx2.c - ScatterElements and ScatterND. */
#include "backend/cpu/move/scatter_body.h"

const as_kernel as_k_scatter_any_avx2 = {
    .name = "scatter_any_avx2",
    .op = "ScatterElements",
    .also = also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "each part applies what falls into its range, AVX2",
    .accepts = accepts,
    .run = run,
};

/* k_reduce_any_avx2.c - sums, means, products and extremes of integers and doubles. */
#include "backend/cpu/norm/reduceany_body.h"

const as_kernel as_k_reduce_any_avx2 = {
    .name = "reduce_any_avx2",
    .op = "ReduceSum",
    .also = also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "rows of joined axes, strips, AVX2",
    .accepts = accepts,
    .run = run,
};

/* k_compare_any_avx2.c - comparisons of all numbers, NaN and infinity, to bool. */
#include "backend/cpu/each/compare_body.h"

const as_kernel as_k_compare_any_avx2 = {
    .name = "compare_any_avx2",
    .op = "Greater",
    .also = also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "strips of joined axes, AVX2",
    .accepts = accepts,
    .run = run,
};

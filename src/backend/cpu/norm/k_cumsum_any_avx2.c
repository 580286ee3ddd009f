/* k_cumsum_any_avx2.c - running sums along an axis. */
#include "backend/cpu/norm/cumsum_body.h"

const as_kernel as_k_cumsum_any_avx2 = {
    .name = "cumsum_any_avx2",
    .op = "CumSum",
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "line by line, or blocks of lines, AVX2",
    .accepts = accepts,
    .run = run,
};

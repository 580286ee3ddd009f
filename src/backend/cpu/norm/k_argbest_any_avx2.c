/* k_argbest_any_avx2.c - ArgMax, ArgMin and Hardmax of any number. */
#include "backend/cpu/norm/argbest_body.h"

const as_kernel as_k_argbest_any_avx2 = {
    .name = "argbest_any_avx2",
    .op = "ArgMax",
    .also = also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "strips of a line, or blocks of lines, AVX2",
    .accepts = accepts,
    .run = run,
};

/* k_compare_any_scalar.c - comparisons of all numbers, NaN and infinity, to bool. */
#include "backend/cpu/each/compare_body.h"

const as_kernel as_k_compare_any_scalar = {
    .name = "compare_any_scalar",
    .op = "Greater",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "strips of joined axes, plain C",
    .accepts = accepts,
    .run = run,
};

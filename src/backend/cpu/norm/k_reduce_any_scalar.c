/* k_reduce_any_scalar.c - sums, means, products and extremes of integers and doubles. */
#include "backend/cpu/norm/reduceany_body.h"

const as_kernel as_k_reduce_any_scalar = {
    .name = "reduce_any_scalar",
    .op = "ReduceSum",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "rows of joined axes, strips",
    .accepts = accepts,
    .run = run,
};

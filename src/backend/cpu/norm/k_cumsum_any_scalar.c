/* k_cumsum_any_scalar.c - running sums along an axis. */
#include "backend/cpu/norm/cumsum_body.h"

const as_kernel as_k_cumsum_any_scalar = {
    .name = "cumsum_any_scalar",
    .op = "CumSum",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "line by line, or blocks of lines",
    .accepts = accepts,
    .run = run,
};

/* k_argbest_any_scalar.c - ArgMax, ArgMin and Hardmax of any number. */
#include "backend/cpu/norm/argbest_body.h"

const as_kernel as_k_argbest_any_scalar = {
    .name = "argbest_any_scalar",
    .op = "ArgMax",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "strips of a line, or blocks of lines",
    .accepts = accepts,
    .run = run,
};

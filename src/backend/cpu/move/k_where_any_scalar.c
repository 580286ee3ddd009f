/* k_where_any_scalar.c - Where, for any dtype. */
#include "backend/cpu/move/where_body.h"

const as_kernel as_k_where_any_scalar = {
    .name = "where_any_scalar",
    .op = "Where",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "strips of joined axes, plain C",
    .accepts = accepts,
    .run = run,
};

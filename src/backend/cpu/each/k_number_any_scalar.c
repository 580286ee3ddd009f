/* k_number_any_scalar.c - arithmetic of integers and doubles. */
#include "backend/cpu/each/number_body.h"

const as_kernel as_k_number_any_scalar = {
    .name = "number_any_scalar",
    .op = "Add",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "strips of joined axes, plain C",
    .accepts = accepts,
    .run = run,
};

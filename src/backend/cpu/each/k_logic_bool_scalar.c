/* k_logic_bool_scalar.c - And, Or, Xor and Not. */
#include "backend/cpu/each/logic_body.h"

const as_kernel as_k_logic_bool_scalar = {
    .name = "logic_bool_scalar",
    .op = "And",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "strips of bytes, plain C",
    .accepts = accepts,
    .run = run,
};

/* k_scatter_any_scalar.c - ScatterElements and ScatterND. */
#include "backend/cpu/move/scatter_body.h"

const as_kernel as_k_scatter_any_scalar = {
    .name = "scatter_any_scalar",
    .op = "ScatterElements",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "each part applies what falls into its range",
    .accepts = accepts,
    .run = run,
};

/* k_flatten_copy.c - the same bytes in another place, for any dtype: used where the output could not share the input's memory. */
#include "backend/cpu/each/plain.h"

const as_kernel as_k_flatten_copy = {
    .name = "flatten_copy",
    .op = "Flatten",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "a plain copy of the bytes",
    .accepts = as_plain_copy_accepts,
    .run = as_plain_copy,
};

/* k_reshape_copy.c - the same bytes in another place, for any dtype: used where the output could not share the input's memory. */
#include "backend/cpu/each/plain.h"

static const char *const also[] = {"Unsqueeze", "Squeeze", "Identity", NULL};

const as_kernel as_k_reshape_copy = {
    .name = "reshape_copy",
    .op = "Reshape",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "a plain copy of the bytes",
    .accepts = as_plain_copy_accepts,
    .run = as_plain_copy,
};

/* k_topk_any_scalar.c - the k largest or smallest along an axis. */
#include "backend/cpu/move/topk_body.h"

const as_kernel as_k_topk_any_scalar = {
    .name = "topk_any_scalar",
    .op = "TopK",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "the best so far, by quickselect",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

/* k_topk_any_avx2.c - the k largest or smallest along an axis. */
#include "backend/cpu/move/topk_body.h"

const as_kernel as_k_topk_any_avx2 = {
    .name = "topk_any_avx2",
    .op = "TopK",
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "the best so far, by quickselect, AVX2",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};

/* k_recurrent_f32_scalar.c - LSTM, GRU and RNN, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/cell/rnn_body.h"

static const char *const also[] = {"GRU", "RNN", NULL};

const as_kernel as_k_recurrent_f32_scalar = {
    .name = "recurrent_f32_scalar",
    .op = "LSTM",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "all gates of a unit in one tile, with their activations, the compiler's vectors",
    .accepts = recurrent_accepts,
    .scratch_bytes = recurrent_scratch_bytes,
    .packed_bytes = recurrent_packed_bytes,
    .pack = recurrent_pack,
    .packed_alone = true,
    .run = recurrent_run,
    .shares = recurrent_shares,
};

/* k_recurrent_f32_neon.c - LSTM, GRU and RNN, vectors of four. */
#include "backend/cpu/simd/simd_neon.h"

#include "backend/cpu/cell/rnn_body.h"

static const char *const also[] = {"GRU", "RNN", NULL};

const as_kernel as_k_recurrent_f32_neon = {
    .name = "recurrent_f32_neon",
    .op = "LSTM",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "all gates of a unit in one tile, with their activations, vectors of four",
    .accepts = recurrent_accepts,
    .scratch_bytes = recurrent_scratch_bytes,
    .packed_bytes = recurrent_packed_bytes,
    .pack = recurrent_pack,
    .packed_alone = true,
    .run = recurrent_run,
    .shares = recurrent_shares,
};

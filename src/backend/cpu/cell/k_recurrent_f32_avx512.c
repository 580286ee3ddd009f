/* k_recurrent_f32_avx512.c - LSTM, GRU and RNN, vectors of sixteen. */
#include "backend/cpu/simd/simd_avx512.h"

#include "backend/cpu/cell/rnn_body.h"

static const char *const also[] = {"GRU", "RNN", NULL};

const as_kernel as_k_recurrent_f32_avx512 = {
    .name = "recurrent_f32_avx512",
    .op = "LSTM",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 40,
    .why = "all gates of a unit in one tile, with their activations, vectors of sixteen",
    .accepts = recurrent_accepts,
    .scratch_bytes = recurrent_scratch_bytes,
    .packed_bytes = recurrent_packed_bytes,
    .pack = recurrent_pack,
    .packed_alone = true,
    .run = recurrent_run,
    .shares = recurrent_shares,
};

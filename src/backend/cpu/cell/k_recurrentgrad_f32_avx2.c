/* k_recurrentgrad_f32_avx2.c - the gradients of LSTM, GRU and RNN through time, vectors of eight. */
#include "backend/cpu/simd/simd_avx2.h"

#include "backend/cpu/cell/rnngrad_body.h"

static const char *const also[] = {"assay.GRUGrad", "assay.RNNGrad", NULL};

const as_kernel as_k_recurrentgrad_f32_avx2 = {
    .name = "recurrentgrad_f32_avx2",
    .op = "assay.LSTMGrad",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 30,
    .why = "one product per step, the gradients of weights as one product over all steps, vectors of eight",
    .accepts = recurrentgrad_accepts,
    .scratch_bytes = recurrentgrad_scratch_bytes,
    .run = recurrentgrad_run,
    .finish = recurrentgrad_finish,
};

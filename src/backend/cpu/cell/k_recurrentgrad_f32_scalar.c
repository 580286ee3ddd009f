/* k_recurrentgrad_f32_scalar.c - the gradients of LSTM, GRU and RNN through time, the compiler's vectors. */
#include "backend/cpu/simd/simd_plain.h"

#include "backend/cpu/cell/rnngrad_body.h"

static const char *const also[] = {"assay.GRUGrad", "assay.RNNGrad", NULL};

const as_kernel as_k_recurrentgrad_f32_scalar = {
    .name = "recurrentgrad_f32_scalar",
    .op = "assay.LSTMGrad",
    .also = also,
    .isa = AS_SIMD_ISA,
    .rank = 12,
    .why = "one product per step, the gradients of weights as one product over all steps, the compiler's vectors",
    .accepts = recurrentgrad_accepts,
    .scratch_bytes = recurrentgrad_scratch_bytes,
    .run = recurrentgrad_run,
    .finish = recurrentgrad_finish,
};

/* k_qconv_i8_scalar.c - exact convolutions of bytes, plain tiles. */
#include "backend/cpu/quant/q_plain.h"

#include "backend/cpu/quant/qconv_body.h"

const as_kernel as_k_qconv_i8_scalar = {
    .name = "qconv_i8_scalar",
    .op = "ConvInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 12,
    .why = "plain tiles, on packed weights and panels of pixels",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

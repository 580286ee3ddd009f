/* k_qconv_i8_neon.c - exact convolutions of bytes, 6x16 tiles, one product per lane. */
#include "backend/cpu/quant/q_neon.h"

#include "backend/cpu/quant/qconv_body.h"

const as_kernel as_k_qconv_i8_neon = {
    .name = "qconv_i8_neon",
    .op = "ConvInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 30,
    .why = "6x16 tiles, one product per lane, on packed weights and panels of pixels",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

/* k_qconv_i8_dotprod.c - exact convolutions of bytes, 6x16 tiles, products in fours. */
#define Q_DOTPROD
#include "backend/cpu/quant/q_neon.h"

#include "backend/cpu/quant/qconv_body.h"

const as_kernel as_k_qconv_i8_dotprod = {
    .name = "qconv_i8_dotprod",
    .op = "ConvInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 40,
    .why = "6x16 tiles, products in fours, on packed weights and panels of pixels",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

/* k_qconv_i8_avx2.c - exact convolutions of bytes, 6x16 tiles, products in pairs. */
#include "backend/cpu/quant/q_avx2.h"

#include "backend/cpu/quant/qconv_body.h"

const as_kernel as_k_qconv_i8_avx2 = {
    .name = "qconv_i8_avx2",
    .op = "ConvInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 30,
    .why = "6x16 tiles, products in pairs, on packed weights and panels of pixels",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

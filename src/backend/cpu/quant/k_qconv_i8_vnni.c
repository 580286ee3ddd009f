/* k_qconv_i8_vnni.c - exact convolutions of bytes, 12x32 tiles, products in fours. */
#define Q_VNNI
#include "backend/cpu/quant/q_avx512.h"

#include "backend/cpu/quant/qconv_body.h"

const as_kernel as_k_qconv_i8_vnni = {
    .name = "qconv_i8_vnni",
    .op = "ConvInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 40,
    .why = "12x32 tiles, products in fours, on packed weights and panels of pixels",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

/* k_qmatmul_i8_neon.c - exact products of bytes in i32, 6x16 tiles, one product per lane. */
#include "backend/cpu/quant/q_neon.h"

#include "backend/cpu/quant/qmatmul_body.h"

const as_kernel as_k_qmatmul_i8_neon = {
    .name = "qmatmul_i8_neon",
    .op = "MatMulInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 30,
    .why = "6x16 tiles, one product per lane, on packed weights",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

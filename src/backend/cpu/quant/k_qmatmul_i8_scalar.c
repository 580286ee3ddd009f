/* k_qmatmul_i8_scalar.c - exact products of bytes in i32, plain tiles. */
#include "backend/cpu/quant/q_plain.h"

#include "backend/cpu/quant/qmatmul_body.h"

const as_kernel as_k_qmatmul_i8_scalar = {
    .name = "qmatmul_i8_scalar",
    .op = "MatMulInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 12,
    .why = "plain tiles, on packed weights",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

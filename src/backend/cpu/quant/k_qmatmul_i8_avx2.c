/* k_qmatmul_i8_avx2.c - exact products of bytes in i32, 6x16 tiles, products in pairs. */
#include "backend/cpu/quant/q_avx2.h"

#include "backend/cpu/quant/qmatmul_body.h"

const as_kernel as_k_qmatmul_i8_avx2 = {
    .name = "qmatmul_i8_avx2",
    .op = "MatMulInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 30,
    .why = "6x16 tiles, products in pairs, on packed weights",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

/* k_qmatmul_i8_vnni.c - exact products of bytes in i32, 12x32 tiles, products in fours. */
#define Q_VNNI
#include "backend/cpu/quant/q_avx512.h"

#include "backend/cpu/quant/qmatmul_body.h"

const as_kernel as_k_qmatmul_i8_vnni = {
    .name = "qmatmul_i8_vnni",
    .op = "MatMulInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 40,
    .why = "12x32 tiles, products in fours, on packed weights",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

/* k_qmatmul_i8_dotprod.c - exact products of bytes in i32, 6x16 tiles, products in fours. */
#define Q_DOTPROD
#include "backend/cpu/quant/q_neon.h"

#include "backend/cpu/quant/qmatmul_body.h"

const as_kernel as_k_qmatmul_i8_dotprod = {
    .name = "qmatmul_i8_dotprod",
    .op = "MatMulInteger",
    .also = also,
    .isa = Q_ISA,
    .rank = 40,
    .why = "6x16 tiles, products in fours, on packed weights",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
};

/* k_logic_bool_avx2.c - And, Or, Xor and Not. */
#include "backend/cpu/each/logic_body.h"

const as_kernel as_k_logic_bool_avx2 = {
    .name = "logic_bool_avx2",
    .op = "And",
    .also = also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "strips of bytes, AVX2",
    .accepts = accepts,
    .run = run,
};

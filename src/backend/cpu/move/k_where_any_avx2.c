/* k_where_any_avx2.c - Where, for any dtype. */
#include "backend/cpu/move/where_body.h"

const as_kernel as_k_where_any_avx2 = {
    .name = "where_any_avx2",
    .op = "Where",
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "strips of joined axes, AVX2",
    .accepts = accepts,
    .run = run,
};

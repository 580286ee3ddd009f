/* k_number_any_avx2.c - arithmetic of integers and doubles. */
#include "backend/cpu/each/number_body.h"

const as_kernel as_k_number_any_avx2 = {
    .name = "number_any_avx2",
    .op = "Add",
    .also = also,
    .isa = AS_ISA_AVX2,
    .rank = 30,
    .why = "strips of joined axes, AVX2",
    .accepts = accepts,
    .run = run,
};

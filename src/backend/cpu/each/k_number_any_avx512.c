/* k_number_any_avx512.c - arithmetic of integers and doubles. */
#include "backend/cpu/each/number_body.h"

const as_kernel as_k_number_any_avx512 = {
    .name = "number_any_avx512",
    .op = "Add",
    .also = also,
    .isa = AS_ISA_AVX512,
    .rank = 40,
    .why = "strips of joined axes, AVX-512",
    .accepts = accepts,
    .run = run,
};

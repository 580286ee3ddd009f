/* rf_madd_i8_avx2.c - products of 32 bytes added in pairs, then to a sum of 16-bit numbers: how AVX2 multiplies int8. */
#include <immintrin.h>

#include "roof/body.h"

enum { STEPS = 4, OPS = 64 }; /* 32 products, 16 sums of two, 16 additions: 64 */

static double per_pass(size_t bytes)
{
    (void)bytes;
    return (double)OPS * AS_CHAINS * STEPS;
}

/* The sum is the next step's unsigned operand; a product of constants would be moved out of the loop. */
static void run(const as_meter_args *args, uint64_t n_passes)
{
    int16_t *seed = (int16_t *)(void *)args->stream[0];
    __m256i  m = _mm256_set1_epi8(3);
#define SEED(i) seed[(i) * 16] = (int16_t)(1 + (i));
    AS_EACH(SEED)
    AS_PASS_END();
#define START(i) __m256i x##i = _mm256_loadu_si256((const __m256i *)(const void *)(seed + (i) * 16));
    AS_EACH(START)
#define STEP(i) x##i = _mm256_add_epi16(_mm256_maddubs_epi16(x##i, m), x##i);
    for (uint64_t n = n_passes; n; n--) {
        AS_EACH(STEP)
        AS_EACH(STEP)
        AS_EACH(STEP)
        AS_EACH(STEP)
    }
#define END(i) _mm256_storeu_si256((__m256i *)(void *)(seed + (i) * 16), x##i);
    AS_EACH(END)
    AS_PASS_END();
}

const as_meter as_rf_madd_i8_avx2 = {
    .name = "madd.i8.avx2", .unit = "op/s", .what = "12 chains of vpmaddubsw and vpaddw; a product or an addition counts 1",
    .kind = AS_METER_REGISTERS, .isa = AS_ISA_AVX2, .rank = 20, .order = 14, .n_streams = 1, .per_pass = per_pass, .run = run,
};

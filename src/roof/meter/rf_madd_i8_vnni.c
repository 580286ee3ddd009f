/* rf_madd_i8_vnni.c - the rate of int8 products, 64 at a time, summed in fours. */
#include <immintrin.h>

#include "roof/meter/body.h"

enum { STEPS = 4, OPS = 128, SEEDS = 16 };

static double per_pass(size_t bytes)
{
    (void)bytes;
    return (double)OPS * AS_CHAINS * STEPS;
}

static void run(const as_meter_args *args, uint64_t n_passes)
{
    int32_t *seed = (int32_t *)(void *)args->stream[0];
    __m512i  a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
#define SEED(i) seed[(i)*SEEDS] = 1 + (i);
    AS_EACH(SEED)
    AS_PASS_END();
#define START(i) __m512i x##i = _mm512_loadu_si512(seed + (i)*SEEDS);
    AS_EACH(START)
#define STEP(i) x##i = _mm512_dpbusd_epi32(x##i, a, b);
    for (uint64_t n = n_passes * STEPS; n; n--) {
        __asm__ volatile("" : "+v"(a), "+v"(b)); /* may have changed, for the compiler: it cannot hoist the products */
        AS_EACH(STEP)
    }
#define END(i) _mm512_storeu_si512(seed + (i)*SEEDS, x##i);
    AS_EACH(END)
    AS_PASS_END();
}

const as_meter as_rf_madd_i8_vnni = {
    .name = "madd.i8.vnni",
    .unit = "op/s",
    .what = "12 chains of vpdpbusd; a product or an addition counts 1",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_AVX512 | AS_ISA_VNNI,
    .rank = 40,
    .order = 14,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};

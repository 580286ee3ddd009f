/* rf_madd_i8_dotprod.c - the rate of int8 products, 16 at a time, summed in fours. */
#include <arm_neon.h>

#include "roof/meter/body.h"

enum { STEPS = 4, OPS = 32, SEEDS = 4 };

static double per_pass(size_t bytes)
{
    (void)bytes;
    return (double)OPS * AS_CHAINS * STEPS;
}

static void run(const as_meter_args *args, uint64_t n_passes)
{
    int32_t  *seed = (int32_t *)(void *)args->stream[0];
    int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
#define SEED(i) seed[(i)*SEEDS] = 1 + (i);
    AS_EACH(SEED)
    AS_PASS_END();
#define START(i) int32x4_t x##i = vld1q_s32(seed + (i)*SEEDS);
    AS_EACH(START)
#define STEP(i) x##i = vdotq_s32(x##i, a, b);
    for (uint64_t n = n_passes * STEPS; n; n--) {
        __asm__ volatile("" : "+w"(a), "+w"(b)); /* may have changed, for the compiler: it cannot hoist the products */
        AS_EACH(STEP)
    }
#define END(i) vst1q_s32(seed + (i)*SEEDS, x##i);
    AS_EACH(END)
    AS_PASS_END();
}

const as_meter as_rf_madd_i8_dotprod = {
    .name = "madd.i8.dotprod",
    .unit = "op/s",
    .what = "24 chains of sdot; a product or an addition counts 1",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_NEON | AS_ISA_DOTPROD,
    .rank = 30,
    .order = 14,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};

/* rf_madd_i8_neon.c - products of eight bytes added to a sum of 16-bit numbers, which every arm64 has. */
#include <arm_neon.h>

#include "roof/meter/body.h"

enum { STEPS = 4, OPS = 16 };

static double per_pass(size_t bytes)
{
    (void)bytes;
    return (double)OPS * AS_CHAINS * STEPS;
}

static void run(const as_meter_args *args, uint64_t n_passes)
{
    int16_t *seed = (int16_t *)(void *)args->stream[0];
    int8x8_t a = vdup_n_s8(3), b = vdup_n_s8(5);
#define SEED(i) seed[(i)*8] = (int16_t)(1 + (i));
    AS_EACH(SEED)
    AS_PASS_END();
#define START(i) int16x8_t x##i = vld1q_s16(seed + (i)*8);
    AS_EACH(START)
#define STEP(i) x##i = vmlal_s8(x##i, a, b);
    for (uint64_t n = n_passes * STEPS; n; n--) {
        __asm__ volatile("" : "+w"(a), "+w"(b)); /* may have changed, for the compiler: it cannot hoist the products */
        AS_EACH(STEP)
    }
#define END(i) vst1q_s16(seed + (i)*8, x##i);
    AS_EACH(END)
    AS_PASS_END();
}

const as_meter as_rf_madd_i8_neon = {
    .name = "madd.i8.neon",
    .unit = "op/s",
    .what = "24 chains of smlal; a product or an addition counts 1",
    .kind = AS_METER_REGISTERS,
    .isa = AS_ISA_NEON,
    .rank = 20,
    .order = 14,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};

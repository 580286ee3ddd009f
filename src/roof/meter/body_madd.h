/* body_madd.h - products of bytes added in pairs, then to a sum of 16-bit numbers: how x86 multiplies int8.  Define before
 * including it: MADD_VECTOR, MADD_BYTES (of a vector), MADD_LOAD, MADD_STORE, MADD_SET (a byte everywhere), MADD (unsigned by
 * signed, pairs) and MADD_ADD. */
#include "roof/meter/body.h"

enum { STEPS = 4, OPS = 2 * MADD_BYTES, SEEDS = MADD_BYTES / 2 }; /* of 32 bytes: 32 products, 16 sums of two, 16 additions */

static double per_pass(size_t bytes)
{
    (void)bytes;
    return (double)OPS * AS_CHAINS * STEPS;
}

/* The sum is the next step's unsigned operand; a product of constants would be hoisted out of the loop. */
static void run(const as_meter_args *args, uint64_t n_passes)
{
    int16_t    *seed = (int16_t *)(void *)args->stream[0];
    MADD_VECTOR m = MADD_SET(3);
#define SEED(i) seed[(i)*SEEDS] = (int16_t)(1 + (i));
    AS_EACH(SEED)
    AS_PASS_END();
#define START(i) MADD_VECTOR x##i = MADD_LOAD((const MADD_VECTOR *)(const void *)(seed + (i)*SEEDS));
    AS_EACH(START)
#define STEP(i) x##i = MADD_ADD(MADD(x##i, m), x##i);
    for (uint64_t n = n_passes; n; n--) {
        AS_EACH(STEP)
        AS_EACH(STEP)
        AS_EACH(STEP)
        AS_EACH(STEP)
    }
#define END(i) MADD_STORE((MADD_VECTOR *)(void *)(seed + (i)*SEEDS), x##i);
    AS_EACH(END)
    AS_PASS_END();
}

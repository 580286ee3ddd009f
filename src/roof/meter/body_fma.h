/* body_fma.h - independent chains x = x * m + c in registers, the most that the multiply-add units can do.
 *
 * Before it: FMA_VECTOR, FMA_ELEMENT, FMA_LANES, FMA_LOAD(p), FMA_STORE(p, x), FMA(a, b, c).  Every chain starts from a different
 * number: with equal ones a compiler keeps one chain for all, and the "limit" is a multiple of the true one. */
#include "roof/meter/body.h"

enum { FMA_PER_CHAIN = 16 }; /* steps of a chain per pass */

static double per_pass(size_t bytes)
{
    (void)bytes;
    return 2.0 * FMA_LANES * AS_CHAINS * FMA_PER_CHAIN;
}

/* m and c keep every chain near c / (1 - m): no overflow and no subnormal numbers, however long it runs. */
static void run(const as_meter_args *args, uint64_t n_passes)
{
    FMA_ELEMENT *seed = (FMA_ELEMENT *)(void *)args->stream[0], pair[2 * FMA_LANES];
    for (int i = 0; i < FMA_LANES; i++) {
        pair[i] = (FMA_ELEMENT)0.75;
        pair[FMA_LANES + i] = (FMA_ELEMENT)0.25;
    }
    __asm__ volatile("" : "+m"(pair));
    FMA_VECTOR m = FMA_LOAD(pair), c = FMA_LOAD(pair + FMA_LANES);
#define FMA_SEED(i) seed[(i)*FMA_LANES] = (FMA_ELEMENT)(1.0 + 0.01 * (i));
    AS_EACH(FMA_SEED)
    AS_PASS_END();
#define FMA_START(i) FMA_VECTOR x##i = FMA_LOAD(seed + (i)*FMA_LANES);
    AS_EACH(FMA_START)
#define FMA_STEP(i) x##i = FMA(x##i, m, c);
    for (uint64_t n = n_passes * (FMA_PER_CHAIN / 4); n; n--) {
        AS_EACH(FMA_STEP)
        AS_EACH(FMA_STEP)
        AS_EACH(FMA_STEP)
        AS_EACH(FMA_STEP)
    }
#define FMA_END(i) FMA_STORE(seed + (i)*FMA_LANES, x##i);
    AS_EACH(FMA_END)
    AS_PASS_END();
}

/* body_read.h - reads a buffer from end to end.  The values are combined by exclusive or, which every port can do at once: with
 * additions, the additions would be the limit instead of the loads. */
#include "roof/meter/body.h"

enum { READ_BYTES = 12 * VW * (int)sizeof(float) };
_Static_assert(AS_METER_GRAIN % READ_BYTES == 0, "a buffer is whole steps");

static double per_pass(size_t bytes) { return (double)bytes; }

static void run(const as_meter_args *args, uint64_t n_passes)
{
#define READ_START(i) vf x##i = v_zero();
    AS_EACH_12(READ_START)
    for (uint64_t n = n_passes; n; n--) {
        const float *p = (const float *)(const void *)args->stream[0], *end = p + args->bytes / sizeof *p;
#define READ_STEP(i) x##i = v_xor(x##i, v_load(p + (i)*VW));
        for (; p != end; p += 12 * VW) {
            AS_EACH_12(READ_STEP)
        }
        AS_PASS_END();
    }
    vf all = v_zero();
#define READ_FOLD(i) all = v_xor(all, x##i);
    AS_EACH_12(READ_FOLD)
    float sink[VW];
    v_store(sink, all);
    __asm__ volatile("" ::"m"(sink));
}

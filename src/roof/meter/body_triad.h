/* body_triad.h - a = b + s * c.  TRIAD_STORE(p, x) is how a is written.
 *
 * Counts what the program asks for: two reads and a write.  An ordinary store reads its line first, so the bus moves a third more
 * than that. */
#include "roof/meter/body.h"

enum { TRIAD_STEPS = 4 };
_Static_assert(AS_METER_GRAIN % (TRIAD_STEPS * VW * sizeof(float)) == 0, "a buffer is whole steps");

static double per_pass(size_t bytes) { return 3.0 * (double)bytes; }

static void run(const as_meter_args *args, uint64_t n_passes)
{
    vf s = v_set(0.5f);
    for (uint64_t n = n_passes; n; n--) {
        float       *a = (float *)(void *)args->stream[0], *end = a + args->bytes / sizeof *a;
        const float *b = (const float *)(const void *)args->stream[1], *c = (const float *)(const void *)args->stream[2];
        for (; a != end; a += TRIAD_STEPS * VW, b += TRIAD_STEPS * VW, c += TRIAD_STEPS * VW) {
            vf x0 = v_fma(s, v_load(c), v_load(b)), x1 = v_fma(s, v_load(c + VW), v_load(b + VW));
            vf x2 = v_fma(s, v_load(c + 2 * VW), v_load(b + 2 * VW)), x3 = v_fma(s, v_load(c + 3 * VW), v_load(b + 3 * VW));
            TRIAD_STORE(a, x0);
            TRIAD_STORE(a + VW, x1);
            TRIAD_STORE(a + 2 * VW, x2);
            TRIAD_STORE(a + 3 * VW, x3);
        }
        AS_PASS_END();
    }
}

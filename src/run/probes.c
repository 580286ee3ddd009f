/* probes.c - measures between blocks what disturbs the machine. */
#include "run/probes.h"

#include <string.h>

enum { FMA_STEPS = 3000, RING_BYTES = 16 << 20, COPY_BYTES = 128 << 10 };

struct as_probes {
    char           *ring; /* larger than a core's own caches: each copy takes the next piece of it */
    size_t          at;
    volatile double sink; /* keeps the loop */
};

assay_status as_probes_open(assay_env *env, as_arena *arena, as_probes **out)
{
    as_probes *p = AS_TAKE(arena, as_probes, 1);
    if (p)
        p->ring = as_arena_take(arena, RING_BYTES, 1, 64);
    if (!p || !p->ring)
        return as_fail(env, ASSAY_NO_MEMORY, "measure: not enough memory for the probes");
    memset(p->ring, 1, RING_BYTES); /* touches the pages, so that they exist */
    *out = p;
    return ASSAY_OK;
}

/* Eight independent chains, so that the rate is measured, not the latency. */
static double chains(int steps, double start)
{
    double a = start, b = start + 1, c = start + 2, d = start + 3, e = start + 4, f = start + 5, g = start + 6, h = start + 7;
    for (int i = 0; i < steps; i++) {
        a = a * 0.999 + 0.5;
        b = b * 0.999 + 0.5;
        c = c * 0.999 + 0.5;
        d = d * 0.999 + 0.5;
        e = e * 0.999 + 0.5;
        f = f * 0.999 + 0.5;
        g = g * 0.999 + 0.5;
        h = h * 0.999 + 0.5;
    }
    return a + b + c + d + e + f + g + h;
}

void as_probes_read(as_probes *p, assay_env *env, double *fma_ns, double *copy_ns)
{
    uint64_t begin = as_clock_now(&env->clock);
    p->sink = chains(FMA_STEPS, p->sink * 1e-9);
    uint64_t middle = as_clock_now(&env->clock);
    memcpy(p->ring + p->at + COPY_BYTES, p->ring + p->at, COPY_BYTES);
    p->at = (p->at + 2 * COPY_BYTES) % RING_BYTES;
    uint64_t end = as_clock_now(&env->clock);
    *fma_ns = as_clock_ns(&env->clock, middle - begin);
    *copy_ns = as_clock_ns(&env->clock, end - middle);
}

/* rf_stream_neon.c - the triad with stores of pairs that are marked as not needed again. */
#include "backend/cpu/simd/simd_neon.h"
#include "roof/meter/body.h"

enum { STEPS = 4 };

static double per_pass(size_t bytes) { return 3.0 * (double)bytes; }

static inline void pair_store(float *p, vf x, vf y) { __asm__ volatile("stnp %q1, %q2, [%0]" ::"r"(p), "w"(x), "w"(y) : "memory"); }

static void run(const as_meter_args *args, uint64_t n_passes)
{
    vf s = v_set(0.5f);
    for (uint64_t n = n_passes; n; n--) {
        float       *a = (float *)(void *)args->stream[0], *end = a + args->bytes / sizeof *a;
        const float *b = (const float *)(const void *)args->stream[1], *c = (const float *)(const void *)args->stream[2];
        for (; a != end; a += STEPS * VW, b += STEPS * VW, c += STEPS * VW) {
            pair_store(a, v_fma(s, v_load(c), v_load(b)), v_fma(s, v_load(c + VW), v_load(b + VW)));
            pair_store(a + 2 * VW, v_fma(s, v_load(c + 2 * VW), v_load(b + 2 * VW)),
                       v_fma(s, v_load(c + 3 * VW), v_load(b + 3 * VW)));
        }
        AS_PASS_END();
    }
}

const as_meter as_rf_stream_neon = {
    .name = "stream",
    .unit = "byte/s",
    .what = "a = b + s * c with non-temporal stores (neon), counted as 2 reads and 1 write",
    .kind = AS_METER_DRAM,
    .isa = AS_SIMD_ISA,
    .rank = 20,
    .order = 24,
    .n_streams = 3,
    .per_pass = per_pass,
    .run = run,
};

/* shots.h - the one loop that reads the clock: a candidate defines a call; the samples of a block and the first calls of a launch
 * are timed here.
 *
 * Inline, so that `call` is compiled into the loop: between two stamps there are only the calls. */
#ifndef AS_RUN_SHOTS_H
#define AS_RUN_SHOTS_H

#include <math.h>

#include "base/clock.h"
#include "base/env.h"
#include "trace/trace.h"

#define AS_STAMPS static inline __attribute__((always_inline)) assay_status

/* One call of the candidate.  Allocates nothing, prints nothing, locks nothing. */
typedef assay_status (*as_call)(assay_env *env, void *self);

/* What the first three calls of a launch take, one by one. */
AS_STAMPS as_first_calls(assay_env *env, as_call call, void *self, double first_ns[3])
{
    for (int i = 0; i < 3; i++) {
        uint64_t begin = as_clock_now(&env->clock);
        AS_TRY(call(env, self));
        first_ns[i] = as_clock_ns(&env->clock, as_clock_now(&env->clock) - begin);
    }
    return ASSAY_OK;
}

/* Where to put the stamps themselves, for a candidate that records more than durations. */
typedef struct as_stamps {
    as_sample
        *samples; /* one per sample: begin and end in ticks of the clock, CPU time; the candidate fills the rest; NULL: none */
    uint64_t
        *last; /* the latest stamp: the begin of a sample, then whatever `call` puts there at its own end, which is taken as the
                         * sample's end instead of another stamp; NULL: none */
} as_stamps;

/* n samples of `calls` calls each, and the involuntary switches of all.  reads_cpu: the calling thread does all the work; its CPU time is read
 * outside of the stamps, once between two samples, because it costs about a microsecond. */
AS_STAMPS as_shots_take(assay_env *env, const char *what, as_call call, void *self, bool reads_cpu, uint32_t calls, uint32_t n,
                        const as_stamps stamps, as_shot *shots, uint32_t *switches)
{
    long     before = as_thread_switches();
    float    per = 1.0f / (float)calls;
    uint64_t cpu = reads_cpu ? as_thread_cpu_ns() : 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t begin = as_clock_now(&env->clock);
        if (stamps.last)
            *stamps.last = begin;
        for (uint32_t k = 0; k < calls; k++)
            AS_TRY(call(env, self));
        uint64_t end = stamps.last ? *stamps.last : as_clock_now(&env->clock), cpu_end = reads_cpu ? as_thread_cpu_ns() : 0;
        if (end < begin)
            return as_fail(env, ASSAY_DEVICE, "measure: %s: the clock %s went back during a sample", what, env->clock.name);
        shots[i] = (as_shot){(float)as_clock_ns(&env->clock, end - begin) * per, reads_cpu ? (float)(cpu_end - cpu) * per : NAN};
        if (stamps.samples)
            stamps.samples[i] = (as_sample){
                .begin_ticks = begin, .end_ticks = end, .cpu_ns = reads_cpu ? cpu_end - cpu : UINT64_MAX, .n_runs = calls};
        cpu = cpu_end;
    }
    *switches = (uint32_t)(as_thread_switches() - before);
    return ASSAY_OK;
}

#endif

/* stage.c - what a long call is doing, and how long that takes. */
#include "base/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TELL_NS 50000000u

static const char *const texts[AS_N_PHASES] = {
    [AS_PHASE_NONE] = "starting",
    [AS_PHASE_PLAN] = "planning",
    [AS_PHASE_LIMITS] = "measuring limits",
    [AS_PHASE_CHECK] = "checking answers",
    [AS_PHASE_WARM_UP] = "warming up",
    [AS_PHASE_MEASURE] = "measuring",
    [AS_PHASE_TRAIN] = "training",
    [AS_PHASE_REFERENCE] = "running reference code",
    [AS_PHASE_READ] = "reading",
    [AS_PHASE_ANALYSE] = "analysing",
    [AS_PHASE_KEEP] = "storing the run",
    [AS_PHASE_WRITE] = "writing the report",
};

const char *as_phase_text(as_phase phase) { return (unsigned)phase < AS_N_PHASES ? texts[phase] : "working"; }

/* Of this stage alone; NaN: not known. */
static double stage_left_s(const as_stage *s, double elapsed_s)
{
    if (isfinite(s->expect_s))
        return s->done > 0 ? s->expect_s * (1 - s->done) : fmax(s->expect_s - elapsed_s, 0);
    return s->done > 0.05 ? elapsed_s * (1 - s->done) / s->done : NAN;
}

static void tell(assay_env *env)
{
    as_stage *s = &env->stage;
    uint64_t  now = as_monotonic_ns();
    if (!env->progress)
        return;
    s->told_ns = now;
    assay_stage told = {.what = as_phase_text(as_stage_phase(env)),
                        .subject = s->subject,
                        .done = s->done,
                        .expect_s = s->expect_s,
                        .left_s = stage_left_s(s, (double)(now - s->began_ns) / 1e9) + s->after_s,
                        .beyond_s = s->beyond_s};
    env->progress(env->progress_arg, &told);
}

void as_stage_begin(assay_env *env, as_phase phase, const char *subject, double expect_s, double beyond_s)
{
    as_stage *s = &env->stage;
    bool      same = as_stage_phase(env) == phase && !strncmp(s->subject, subject, sizeof s->subject - 1);
    if (same && s->done < 1) /* it goes on */
        return;
    snprintf(s->subject, sizeof s->subject, "%s", subject);
    s->n++;
    s->expect_s = expect_s;
    s->beyond_s = beyond_s;
    s->done = 0;
    s->began_ns = as_monotonic_ns();
    atomic_store_explicit(&env->phase, (int)phase, memory_order_relaxed);
    tell(env);
}

void as_stage_done(assay_env *env, double done)
{
    env->stage.done = done < 0 ? 0 : done > 1 ? 1 : done;
    tell(env);
}

void as_stage_again(assay_env *env)
{
    if (env->progress && env->stage.n && as_monotonic_ns() - env->stage.told_ns >= TELL_NS)
        tell(env);
}

void as_stage_after(assay_env *env, double after_s) { env->stage.after_s = after_s; }

void as_stage_reference(assay_env *env, const char *name, const char *op, double work)
{
    char subject[AS_SUBJECT_BYTES];
    if (!env || work / AS_REFERENCE_RATE < AS_REFERENCE_LONG_S)
        return;
    snprintf(subject, sizeof subject, "%s (%s)", name, op);
    as_stage_begin(env, AS_PHASE_REFERENCE, subject, work / AS_REFERENCE_RATE, 0);
}

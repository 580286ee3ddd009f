/* detail.c - runs of several candidates with a span for each step, after the timed blocks.
 *
 * The verdict comes from blocks in which nothing is recorded; the runs here show which layers made the difference.  Candidates
 * take turns run by run in random order, for the same reason as in the blocks: what the machine does meanwhile then affects all
 * of them. */
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "run/runner.h"
#include "run/sampler.h"
#include "run/shots.h"

#define COIN      0x6c617972u
#define SETTLE_NS 1e6 /* a longer run warms its own caches */
enum { MOST_RUNS = 40, LEAST_RUNS = 12, USEFUL_RUNS = 5, MOST_SPANS = 16384 };

typedef struct detailer {
    assay_env      *env;
    const as_arm   *arms;
    int             n;
    assay_trace    *trace;
    as_runner      *runners; /* one per candidate */
    int            *order;
    as_run_settings settings;
    as_arena        arena;
    uint64_t        seed, begin;
} detailer;

static double spent_ns(const detailer *d) { return as_clock_ns(&d->env->clock, as_clock_now(&d->env->clock) - d->begin); }

/* The first step of a candidate's plan in the trace; -1: not described yet. */
static int first_step(const assay_trace *t, int arm)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (t->steps[i].arm == arm)
            return (int)i;
    return -1;
}

static assay_status runner_open(detailer *d, int i)
{
    as_trace_arm info = d->trace->arms[i];
    AS_TRY(d->arms[i].launch(d->env, d->arms[i].self, 0, &info));
    as_runner *r = &d->runners[i];
    *r = (as_runner){.env = d->env,
                     .instance = as_arm_plan_take(&d->arms[i]),
                     .settings = &d->settings,
                     .trace = d->trace,
                     .fake = d->env->clock.kind == AS_CLOCK_FAKE,
                     .run_ns = info.first_ns[2],
                     .first_step = first_step(d->trace, i)};
    if (r->first_step >= 0)
        return ASSAY_OK;
    r->first_step = (int)d->trace->n_steps;
    return as_plan_describe_steps(d->env, r->instance->plan, i, d->trace);
}

static assay_status run_take(detailer *d, int i)
{
    as_runner *r = &d->runners[i];
    r->instance = as_arm_plan_take(&d->arms[i]);
    /* The caches hold another candidate's data; where memory is shared, the weights are packed again, which is not part of a
     * run. */
    if (r->run_ns < SETTLE_NS || d->trace->memory == AS_MEMORY_SHARED)
        AS_TRY(as_instance_step(AS_RUN(d->env), r->instance));
    for (int k = 0; k < r->recorder.n_rings; k++)
        r->recorder.rings[k].run = (uint32_t)d->trace->n_detailed;
    uint64_t     begin = as_clock_now(&d->env->clock);
    assay_status status = as_instance_step(AS_RUN_WITH(d->env, &r->recorder), r->instance);
    uint64_t     end = as_clock_now(&d->env->clock);
    if (status != ASSAY_OK) {
        as_runner_forget(r);
        return status;
    }
    as_ring_add(&r->recorder.rings[0], AS_SPAN_RUN, -1, begin, end);
    as_runner_drain(r, UINT64_MAX);
    d->trace->n_detailed++;
    return ASSAY_OK;
}

static void order_draw(detailer *d, uint32_t round)
{
    for (int i = 0; i < d->n; i++)
        d->order[i] = i;
    for (int i = d->n - 1; i > 0; i--) {
        int k = (int)(as_philox_uniform(d->seed, COIN, round, (uint64_t)i) * (float)(i + 1)), kept = d->order[i];
        d->order[i] = d->order[k];
        d->order[k] = kept;
    }
}

/* Spans that one run of each candidate writes. */
static uint64_t spans_of_round(const detailer *d)
{
    uint64_t spans = 0;
    for (int i = 0; i < d->n; i++)
        spans += as_runner_spans(&d->runners[i], AS_DETAIL_STEP);
    return spans;
}

/* How many runs of each candidate are worth their memory. */
static uint32_t runs_wanted(uint64_t spans)
{
    uint64_t fit = MOST_SPANS / (spans ? spans : 1);
    return fit > MOST_RUNS ? MOST_RUNS : fit < LEAST_RUNS ? LEAST_RUNS : (uint32_t)fit;
}

/* Whether too few runs would fit to be useful; the trace says why. */
static bool is_too_long(detailer *d, double most_ns)
{
    double round = 0;
    char   one[32], left[32];
    for (int i = 0; i < d->n; i++)
        round += d->runners[i].run_ns;
    if (!(round * USEFUL_RUNS > most_ns))
        return false;
    const char *why =
        as_arena_printf(&d->trace->arena, "a run of each candidate takes %s, %d are needed, and %s were left for them",
                        as_show(one, sizeof one, round, "ns"), USEFUL_RUNS, as_show(left, sizeof left, most_ns, "ns"));
    d->trace->detail_why = why ? why : d->trace->detail_why;
    return true;
}

static assay_status runs_take(detailer *d, double some_ns, double most_ns)
{
    uint64_t spans = spans_of_round(d);
    uint32_t n = runs_wanted(spans);
    d->settings = (as_run_settings){.kept_runs = n};
    for (int i = 0; i < d->n; i++)
        AS_TRY(as_runner_make_rings(&d->runners[i], AS_DETAIL_STEP, 1));
    if (!as_trace_reserve(d->trace, n * spans, 0, 0, 0)) /* of all candidates together */
        return as_fail(d->env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for its spans", d->trace->name);
    d->begin = as_clock_now(&d->env->clock);
    for (uint32_t round = 0; round < n && !as_cancelled(d->env); round++) {
        if (round && spent_ns(d) > (round < LEAST_RUNS ? most_ns : some_ns))
            break;
        order_draw(d, round);
        for (int k = 0; k < d->n; k++)
            AS_TRY(run_take(d, d->order[k]));
    }
    d->trace->detail = AS_DETAIL_STEP;
    return ASSAY_OK;
}

assay_status as_arms_detail(assay_env *env, const as_arm *arms, int n, const as_sampler_settings *s, assay_trace *t)
{
    double budget = (double)s->budget_ns, left = budget - t->spent_ns, some = budget / 10,
           most = left < some         ? some
                  : left < budget / 2 ? left
                                      : budget / 2;
    detailer d = {.env = env, .arms = arms, .n = n, .trace = t, .seed = s->seed};
    if (t->n_detailed >= (uint64_t)LEAST_RUNS * (uint64_t)n)
        return ASSAY_OK;
    d.runners = AS_TAKE(&d.arena, as_runner, n);
    d.order = AS_TAKE(&d.arena, int, n);
    assay_status status = d.runners && d.order
                              ? ASSAY_OK
                              : as_fail(env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for %d candidates", t->name, n);
    int          n_open = 0;
    for (; n_open < n && status == ASSAY_OK; n_open++)
        status = runner_open(&d, n_open);
    if (status == ASSAY_OK && !is_too_long(&d, most))
        status = runs_take(&d, some, most);
    for (int i = 0; i < n_open; i++) {
        arms[i].land(arms[i].self);
        as_arena_drop(&d.runners[i].arena);
    }
    as_arena_drop(&d.arena);
    return status;
}

/* record.c - the cost of recording, its detail, and where the spans go.
 *
 * The rings are filled while time is measured and drained between samples.  Totals cover every recorded run.  Spans are kept for
 * some runs only, so that a long measurement has bounded memory.  These runs are spread over the whole measurement, because the
 * first ones may all have had the same neighbour. */
#include <string.h>

#include "base/stats.h"
#include "base/text.h"
#include "run/runner.h"

enum { N_COST_BATCHES = 15, N_COST_SPANS = 256, MAX_RING_SPANS = 1 << 20, MAX_KEPT_SPANS = 1 << 18 };

/* --- Cost ---------------------------------------------------------------------------------------------- */

/* A span is two stamps and a ring entry; measured in batches, because one is shorter than the clock resolves. */
static double span_cost_ns(const as_clock *clock, as_span *room)
{
    double batches[N_COST_BATCHES], scratch[N_COST_BATCHES];
    for (int i = 0; i < N_COST_BATCHES; i++) {
        as_ring  ring = {.spans = room, .capacity = N_COST_SPANS};
        uint64_t begin = as_clock_now(clock);
        for (int k = 0; k < N_COST_SPANS; k++) {
            uint64_t at = as_clock_now(clock);
            as_ring_add(&ring, AS_SPAN_STEP, k, at, as_clock_now(clock));
        }
        batches[i] = as_clock_ns(clock, as_clock_now(clock) - begin) / N_COST_SPANS;
    }
    return as_median(batches, N_COST_BATCHES, scratch);
}

static void body_count(const assay_plan *plan, uint64_t *n_segments, uint64_t *n_steps)
{
    *n_segments = 0;
    *n_steps = (uint64_t)(plan->n_steps - plan->n_prologue);
    for (int i = 0; i < plan->n_segments; i++)
        *n_segments += !plan->segments[i].prologue;
}

static int n_rings(const assay_plan *plan)
{
    int most = 1;
    for (int d = 0; d < plan->n_devices; d++)
        most = plan->devices[d]->n_threads > most ? plan->devices[d]->n_threads : most;
    return most;
}

/* A device other than the host may add one more span per step, by its own timestamps. */
uint64_t as_runner_spans(const as_runner *r, as_detail detail)
{
    uint64_t n_segments, n_steps, n = 1;
    body_count(r->instance->plan, &n_segments, &n_steps);
    if (detail >= AS_DETAIL_SEGMENT)
        n += n_segments;
    if (detail >= AS_DETAIL_STEP)
        n += r->instance->plan->n_devices > 1 ? 2 * n_steps : n_steps;
    if (detail >= AS_DETAIL_PART)
        n += n_steps * (uint64_t)n_rings(r->instance->plan);
    return n;
}

/* The share of a run that recording takes.  All threads write their parts at once, so only one thread's parts count. */
static double cost_share(const as_runner *r, as_detail detail)
{
    uint64_t n_segments, n_steps, n = as_runner_spans(r, detail);
    body_count(r->instance->plan, &n_segments, &n_steps);
    if (detail >= AS_DETAIL_PART)
        n -= n_steps * (uint64_t)(n_rings(r->instance->plan) - 1);
    return r->fake ? 0 : (double)n * r->trace->span_cost_ns / r->run_ns;
}

assay_status as_runner_choose_detail(as_runner *r)
{
    static const char *const names[] = {
        [AS_DETAIL_RUN] = "run", [AS_DETAIL_SEGMENT] = "segment", [AS_DETAIL_STEP] = "step", [AS_DETAIL_PART] = "part"};
    as_span *room = AS_TAKE(&r->arena, as_span, N_COST_SPANS);
    if (!room)
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory to measure what a span costs");
    r->trace->span_cost_ns = span_cost_ns(&r->env->clock, room);

    as_detail wanted = r->settings->detail, detail = wanted;
    double    most = r->settings->max_cost;
    while (detail > AS_DETAIL_RUN && cost_share(r, detail) > most)
        detail = (as_detail)(detail - 1);
    r->records_runs = cost_share(r, AS_DETAIL_RUN) <= most;
    r->trace->detail = detail;
    char cost[32], run[32];
    as_show(cost, sizeof cost, r->trace->span_cost_ns, "ns");
    as_show(run, sizeof run, r->run_ns, "ns");
    const char *why = "";
    as_detail   refused = r->records_runs ? (as_detail)(detail + 1) : AS_DETAIL_RUN; /* the coarsest detail that costs too much */
    if (detail != wanted || !r->records_runs)
        why = as_arena_printf(&r->trace->arena,
                              "one span per %s would take %.2f %% of a run (%llu spans of %s in %s), more than %.2f %%%s",
                              names[refused], 100 * cost_share(r, refused), (unsigned long long)as_runner_spans(r, refused), cost,
                              run, 100 * most, r->records_runs ? "" : ": only whole samples are timed");
    if (!why)
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for the reason why spans are coarse");
    r->trace->detail_why = why;
    return ASSAY_OK;
}

/* --- Rings --------------------------------------------------------------------------------------------- */

/* One of how many expected runs is kept.  With a simulated clock there are no neighbours, so the first runs will do. */
static uint32_t every_of(const as_runner *r)
{
    double runs = r->settings->n_runs ? (double)r->settings->n_runs : (double)r->settings->time_ns / r->run_ns;
    double every = r->kept_runs && !r->fake ? runs / r->kept_runs : 1;
    return every >= 1 && every < UINT32_MAX ? (uint32_t)every : 1;
}

/* Ring 0 takes everything that one thread writes; each other ring takes only the parts of its own thread. */
assay_status as_runner_make_rings(as_runner *r, as_detail detail, uint32_t runs_at_once)
{
    int      n = n_rings(r->instance->plan);
    uint64_t spans = as_runner_spans(r, detail), capacity;
    if (__builtin_mul_overflow(spans, runs_at_once, &capacity) || capacity > MAX_RING_SPANS)
        capacity = spans < MAX_RING_SPANS ? MAX_RING_SPANS : spans; /* at least one complete run; the rest counts as dropped */
    as_ring *rings = AS_TAKE(&r->arena, as_ring, n);
    for (int i = 0; rings && i < n; i++) {
        uint32_t room = i == 0 || detail >= AS_DETAIL_PART ? (uint32_t)capacity : 1;
        rings[i] = (as_ring){.spans = AS_TAKE(&r->arena, as_span, room), .capacity = room, .thread = (uint16_t)i};
        if (!rings[i].spans)
            rings = NULL;
        else
            memset(rings[i].spans, 1, room * sizeof(as_span)); /* touches every page now, not between two stamps */
    }
    uint64_t kept = r->settings->kept_runs, fit = MAX_KEPT_SPANS / spans;
    r->kept_runs = (uint32_t)(kept < fit ? kept : fit > 0 ? fit : kept > 0);
    r->kept_every = every_of(r);
    if (!rings || !as_trace_reserve(r->trace, r->kept_runs * spans, 0, 0, 0))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for %llu spans in each of %d rings",
                       (unsigned long long)capacity, n);
    r->recorder = (as_recorder){.rings = rings, .n_rings = n, .detail = detail};
    return ASSAY_OK;
}

/* Keeps one of every kept_every runs, at a varying place: the first run of a block, for example, is not like the others. */
static bool is_kept(const as_runner *r, uint32_t run)
{
    uint32_t window = run / r->kept_every, place = (window * 2654435769u >> 8) % r->kept_every;
    return window < r->kept_runs && run % r->kept_every == place;
}

void as_runner_drain(as_runner *r, bool all)
{
    assay_trace *t = r->trace;
    for (int i = 0; i < r->recorder.n_rings; i++) {
        as_ring *ring = &r->recorder.rings[i];
        for (uint32_t k = 0; k < ring->used; k++) {
            as_span span = ring->spans[k];
            span.step += span.step >= 0 ? r->first_step : 0;
            if (span.kind == AS_SPAN_STEP && span.step >= 0 && (size_t)span.step < t->n_totals)
                as_step_total_add(&t->totals[span.step], span.end_ticks - span.begin_ticks);
            if (!all && !is_kept(r, span.run))
                continue;
            span.begin_ticks -= t->start_ticks;
            span.end_ticks -= t->start_ticks;
            if (!as_trace_add_span(t, &span))
                t->dropped_spans++;
        }
        t->dropped_spans += ring->dropped;
        ring->used = 0;
        ring->dropped = 0;
    }
}

void as_runner_forget(as_runner *r)
{
    for (int i = 0; i < r->recorder.n_rings; i++)
        r->recorder.rings[i].used = 0;
}

/* measure.c - samples, one after the other, until the runs or the time are used up.
 *
 * Between the two stamps of a sample there is the work and nothing else.  All the housekeeping (draining spans, growing the
 * file, sensors, progress) happens between samples, and one untimed run afterwards warms the caches again. */
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "run/runner.h"

enum { KEPT_RUNS = 64, MAX_SAMPLES = 200000, MAX_FAKE_SAMPLES = 4096, MAX_SENSOR_ROUNDS = 1024 };
#define MAX_COST    0.005
#define APPEND_NS   100e6 /* between two appends to the trace file */
#define PROGRESS_NS 50e6
#define SENSORS_NS  10e6 /* between two readings at the ends of samples */
#define SETTLE_NS   1e6  /* a longer run warms its own caches */

assay_status as_run_settings_read(assay_env *env, assay_options *options, as_run_settings *out)
{
    static const char *const details[] = {"run", "segment", "step", "part"};
    const char              *wanted = as_options_text(options, "detail"), *roofs = as_options_text(options, "roofs");
    as_detail                detail = AS_DETAIL_RUN;
    while ((size_t)detail < AS_COUNT(details) && strcmp(wanted, details[detail]))
        detail = (as_detail)(detail + 1);
    if ((size_t)detail == AS_COUNT(details))
        return as_fail(env, ASSAY_BAD_INPUT, "run: the detail is '%s', not run, segment, step or part", wanted);
    *out = (as_run_settings){
        .n_runs = (uint64_t)as_options_int(options, "runs"),
        .time_ns = as_options_duration_ns(options, "time"),
        .pin = as_options_flag(options, "pin"),
        .sensors = as_options_text(options, "sensors"),
        .detail = detail,
        .max_cost = MAX_COST,
        .trace_path = as_options_text(options, "trace"),
        .kept_runs = KEPT_RUNS,
        .with_roofs = strcmp(roofs, "off") != 0,
        .roofs = strcmp(roofs, "measure") ? AS_ROOFS_AUTO : AS_ROOFS_MEASURE,
    };
    return ASSAY_OK;
}

uint64_t as_runner_now(const as_runner *r) { return as_clock_now(&r->env->clock) - r->trace->start_ticks; }

/* --- One sample ---------------------------------------------------------------------------------------- */

/* A run's end is the next one's beginning: half the stamps, and the runs tile the sample. */
static assay_status runs_record(as_runner *r, uint32_t first_run, uint32_t n, const as_recorder *recorder, uint64_t *at)
{
    const as_clock *clock = &r->env->clock;
    int             n_marked = recorder->detail >= AS_DETAIL_SEGMENT ? recorder->n_rings : 1;
    for (uint32_t i = 0; i < n; i++) {
        for (int k = 0; k < n_marked; k++)
            recorder->rings[k].run = first_run + i;
        AS_TRY(as_instance_step(AS_RUN_WITH(r->env, recorder->detail >= AS_DETAIL_SEGMENT ? recorder : NULL), r->instance));
        uint64_t end = as_clock_now(clock);
        as_ring_add(&recorder->rings[0], AS_SPAN_RUN, -1, *at, end);
        *at = end;
    }
    return ASSAY_OK;
}

static assay_status runs_only(as_runner *r, uint32_t n, uint64_t *at)
{
    for (uint32_t i = 0; i < n; i++)
        AS_TRY(as_instance_step(AS_RUN(r->env), r->instance));
    *at = as_clock_now(&r->env->clock);
    return ASSAY_OK;
}

assay_status as_runner_batch(as_runner *r, uint32_t first_run, uint32_t n, const as_recorder *recorder, as_sample *out)
{
    uint64_t cpu_ns = r->reads_cpu ? as_thread_cpu_ns() : 0; /* outside the stamps: it costs about a microsecond */
    uint64_t begin = as_clock_now(&r->env->clock), at = begin;
    AS_TRY(recorder ? runs_record(r, first_run, n, recorder, &at) : runs_only(r, n, &at));
    *out = (as_sample){.begin_ticks = begin - r->trace->start_ticks,
                       .end_ticks = at - r->trace->start_ticks,
                       .cpu_ns = r->reads_cpu ? as_thread_cpu_ns() - cpu_ns : UINT64_MAX,
                       .first_run = first_run,
                       .n_runs = n};
    return ASSAY_OK;
}

/* --- Between samples ----------------------------------------------------------------------------------- */

typedef struct chores {
    as_sensors    *sensors;
    as_trace_file *file;
    uint64_t       appended, told, read; /* ticks of the last time */
} chores;

static bool is_due(const as_runner *r, uint64_t *last, double every_ns)
{
    uint64_t now = as_runner_now(r);
    if (as_clock_ns(&r->env->clock, now - *last) < every_ns)
        return false;
    *last = now;
    return true;
}

static void sensors_read(as_runner *r, chores *c, bool only_per_sample)
{
    uint32_t sample = r->trace->n_samples ? (uint32_t)(r->trace->n_samples - 1) : 0;
    as_sensors_read(c->sensors, only_per_sample, as_runner_now(r), sample, r->trace);
}

static assay_status chores_do(as_runner *r, chores *c, double done)
{
    bool   disturbed = false;
    size_t room = r->trace->cap_readings - r->trace->n_readings;
    /* The room of one full reading is left for the end, which all the differences need. */
    if (room >= 2 * as_sensors_n_values(c->sensors) && as_sensors_n_values(c->sensors) &&
        is_due(r, &c->read, r->fake ? 0 : SENSORS_NS)) {
        sensors_read(r, c, true);
        disturbed = true;
    }
    if (c->file && is_due(r, &c->appended, APPEND_NS)) {
        AS_TRY(as_trace_file_append(r->env, c->file, r->trace));
        disturbed = true;
    }
    if (r->settings->progress && is_due(r, &c->told, PROGRESS_NS)) {
        r->settings->progress(r->settings->progress_arg, done);
        disturbed = true;
    }
    if (disturbed && !r->fake && r->run_ns < SETTLE_NS && done < 1)
        AS_TRY(as_instance_step(AS_RUN(r->env), r->instance));
    return ASSAY_OK;
}

/* --- All samples --------------------------------------------------------------------------------------- */

/* How many samples to make room for; a sample takes more runs when there would be too many. */
static size_t samples_plan(as_runner *r)
{
    uint64_t most = r->fake && !r->settings->n_runs ? MAX_FAKE_SAMPLES : MAX_SAMPLES;
    if (r->settings->n_runs) {
        uint64_t n = (r->settings->n_runs + r->per_sample - 1) / r->per_sample;
        if (n > most)
            r->per_sample = (uint32_t)((r->settings->n_runs + most - 1) / most);
        return (size_t)((r->settings->n_runs + r->per_sample - 1) / r->per_sample);
    }
    if (r->fake || !(r->run_ns > 0))
        return (size_t)most;
    double n = (double)r->settings->time_ns / (r->run_ns * r->per_sample);
    if (n > (double)most / 2)
        r->per_sample = (uint32_t)fmin(ceil(r->per_sample * n / ((double)most / 2)), UINT32_MAX);
    /* Four times as many: the estimate may have been made in a slow moment. */
    return (size_t)fmin((double)most, 4 * n + 64);
}

static double share_done(const as_runner *r, uint64_t begin)
{
    if (r->settings->n_runs)
        return (double)r->trace->n_runs / (double)r->settings->n_runs;
    double spent_ns = as_clock_ns(&r->env->clock, as_runner_now(r) - begin);
    return r->settings->time_ns ? fmin(1, spent_ns / (double)r->settings->time_ns) : 1;
}

static assay_status sample_take(as_runner *r)
{
    assay_trace *t = r->trace;
    uint64_t     left = r->settings->n_runs ? r->settings->n_runs - t->n_runs : UINT32_MAX - t->n_runs;
    uint32_t     n = left < r->per_sample ? (uint32_t)left : r->per_sample;
    as_sample    sample;
    assay_status status = as_runner_batch(r, (uint32_t)t->n_runs, n, r->records_runs ? &r->recorder : NULL, &sample);
    if (status != ASSAY_OK) {
        as_runner_forget(r);
        return status;
    }
    as_trace_add_sample(t, &sample);
    t->n_runs += n;
    as_runner_drain(r, r->kept_runs);
    return ASSAY_OK;
}

static assay_status samples_take(as_runner *r, chores *c)
{
    assay_trace *t = r->trace;
    uint64_t     begin = as_runner_now(r);
    double       done = 0;
    while (done < 1) {
        if (as_cancelled(r->env))
            return ASSAY_CANCELLED;
        if (t->n_samples == t->cap_samples || t->n_runs >= UINT32_MAX) {
            as_trace_add_note(t, "run.stopped", "after %zu samples, which is all there is room for", t->n_samples);
            break;
        }
        AS_TRY(sample_take(r));
        done = share_done(r, begin);
        AS_TRY(chores_do(r, c, done));
    }
    return ASSAY_OK;
}

/* Runs behind the last sample with all their steps, when the samples could not afford them.  At most a tenth of the time. */
static assay_status details_take(as_runner *r)
{
    if (r->settings->detail < AS_DETAIL_STEP || (r->trace->detail >= AS_DETAIL_STEP && r->records_runs))
        return ASSAY_OK;
    AS_TRY(as_runner_make_rings(r, AS_DETAIL_STEP, 1));
    uint64_t begin = as_runner_now(r), n_runs = r->trace->n_runs;
    uint32_t n = 0;
    for (; n < r->kept_runs && n_runs + n < UINT32_MAX && !as_cancelled(r->env); n++) {
        as_sample    unused;
        assay_status status = as_runner_batch(r, (uint32_t)(n_runs + n), 1, &r->recorder, &unused);
        if (status != ASSAY_OK) {
            as_runner_forget(r);
            return status;
        }
        as_runner_drain(r, UINT64_MAX);
        if (as_clock_ns(&r->env->clock, as_runner_now(r) - begin) > (double)r->settings->time_ns / 10)
            break;
    }
    as_trace_add_note(r->trace, "run.detailed", "%u runs behind the last sample with all their steps", n);
    return ASSAY_OK;
}

/* --- The measurement ----------------------------------------------------------------------------------- */

static uint64_t allocs_count(const assay_plan *plan)
{
    uint64_t n = 0;
    for (int d = 0; d < plan->n_devices; d++)
        n += plan->devices[d]->n_allocs;
    return n;
}

static assay_status prepare(as_runner *r, chores *c)
{
    assay_trace *t = r->trace;
    t->totals = AS_TAKE(&t->arena, as_step_total, t->n_steps);
    t->n_totals = t->n_steps;
    if (!t->totals)
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: no room for the totals of %zu steps", t->n_steps);
    AS_TRY(as_sensors_describe(r->env, c->sensors, t));
    if (r->settings->trace_path)
        AS_TRY(as_trace_file_open(r->env, r->settings->trace_path, t, &c->file));
    AS_TRY(as_runner_warm_up(r));
    AS_TRY(as_runner_choose_detail(r));
    AS_TRY(as_runner_size_sample(r));
    size_t n_samples = samples_plan(r), rounds = n_samples < MAX_SENSOR_ROUNDS ? n_samples : MAX_SENSOR_ROUNDS;
    AS_TRY(as_runner_make_rings(r, t->detail, r->records_runs ? r->per_sample : 1));
    if (!as_trace_reserve(t, 0, n_samples, 0, (rounds + 2) * as_sensors_n_values(c->sensors)))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: no room for %zu samples", n_samples);
    as_trace_add_note(t, "run.per_sample", "%u", r->per_sample);
    if (r->reads_cpu)
        as_trace_add_note(t, "run.cpu_clock_cost_ns", "%.1f", as_clock_cost_ns(as_thread_cpu_ns));
    return ASSAY_OK;
}

/* --- Threads that wait for each other -------------------------------------------------------------------- */

/* How often each thread was put off its CPU, in the order of the parts. */
enum { MAX_SEEN_THREADS = 64 };
typedef struct thread_counts {
    long          switches[MAX_SEEN_THREADS];
    as_pool_waits waits;
} thread_counts;

static void switches_read(void *arg, int part, int n_parts)
{
    thread_counts *c = arg;
    (void)n_parts;
    if (part < MAX_SEEN_THREADS)
        c->switches[part] = as_thread_switches();
}

static bool has_threads(const as_runner *r)
{
    const as_device *d = r->instance->plan->devices[0];
    return !r->fake && d->n_threads > 1 && d->backend->waits && d->backend->each_thread;
}

static void threads_read(const as_runner *r, thread_counts *out)
{
    as_device *d = r->instance->plan->devices[0];
    if (!has_threads(r))
        return;
    d->backend->each_thread(d, switches_read, out);
    out->waits = d->backend->waits(d);
}

/* A stolen core shows as waits that last and threads that were switched away; uneven work as waits alone. */
static void threads_note(const as_runner *r, const thread_counts *before, const thread_counts *after)
{
    long switches = 0;
    if (!has_threads(r))
        return;
    for (int i = 0; i < MAX_SEEN_THREADS; i++)
        switches += after->switches[i] - before->switches[i];
    as_trace_add_note(r->trace, "threads.barriers", "%llu",
                      (unsigned long long)(after->waits.n_barriers - before->waits.n_barriers));
    as_trace_add_note(r->trace, "threads.late", "%llu", (unsigned long long)(after->waits.n_late - before->waits.n_late));
    as_trace_add_note(r->trace, "threads.switches", "%ld", switches);
}

static assay_status measure(as_runner *r, chores *c)
{
    thread_counts before = {0}, after = {0};
    AS_TRY(prepare(r, c));
    threads_read(r, &before);
    uint64_t allocs = allocs_count(r->instance->plan);
    sensors_read(r, c, false);
    assay_status status = samples_take(r, c);
    if (status == ASSAY_OK || status == ASSAY_CANCELLED)
        sensors_read(r, c, false);
    threads_read(r, &after);
    threads_note(r, &before, &after);
    r->trace->steady_allocs = allocs_count(r->instance->plan) - allocs;
    return status == ASSAY_OK ? details_take(r) : status;
}

/* Whatever ended it, a trace that holds something is finished properly. */
static assay_status finish(as_runner *r, chores *c, assay_status status)
{
    bool cancelled = status == ASSAY_CANCELLED;
    r->trace->peak_bytes_observed = as_instance_peak_bytes(r->instance);
    if (cancelled)
        as_trace_add_note(r->trace, "run.cancelled", "after %llu measured runs", (unsigned long long)r->trace->n_runs);
    if (c->file && (status == ASSAY_OK || cancelled)) {
        as_trace_file *file = c->file;
        c->file = NULL;
        AS_TRY(as_trace_file_close(r->env, file, r->trace));
    }
    if (r->settings->progress && status == ASSAY_OK)
        r->settings->progress(r->settings->progress_arg, 1);
    if (cancelled)
        return as_fail(r->env, ASSAY_CANCELLED, "run: stopped after %llu measured runs; what was measured is kept",
                       (unsigned long long)r->trace->n_runs);
    return status;
}

static void pin_note(assay_trace *t, const as_pinning *p)
{
    if (!p->device)
        as_trace_add_note(t, "run.pin", "off");
    else if (p->n_pinned == p->n_threads)
        as_trace_add_note(t, "run.pin", "on");
    else
        as_trace_add_note(t, "run.pin", "%d of %d threads: %s", p->n_pinned, p->n_threads, p->why);
}

assay_status as_run_measure(assay_env *env, assay_instance *instance, const as_run_settings *settings, assay_trace *trace)
{
    const assay_plan *plan = instance->plan;
    as_runner         r = {
                .env = env, .instance = instance, .settings = settings, .trace = trace, .fake = env->clock.kind == AS_CLOCK_FAKE};
    r.reads_cpu = !r.fake && plan->n_devices == 1 && plan->devices[0]->n_threads == 1;
    chores     c = {0};
    as_pinning pinning = {0};
    AS_TRY(as_sensors_open(env, settings->sensors, &c.sensors));
    if (settings->pin)
        as_pinning_do(&pinning, plan->devices[0], &r.arena);
    pin_note(trace, &pinning);
    assay_status status = finish(&r, &c, measure(&r, &c));
    as_pinning_undo(&pinning);
    if (c.file)
        as_trace_file_abandon(c.file);
    as_sensors_close(c.sensors);
    as_arena_drop(&r.arena);
    return status;
}

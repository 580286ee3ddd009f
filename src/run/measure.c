/* measure.c - one candidate that records spans, driven by the loop of sampler.c, with sensors and a file that grows.
 *
 * Between the two stamps of a sample there is only the work.  All housekeeping (draining spans, growing the file, sensors,
 * progress) happens between blocks; one untimed run after it warms the caches again. */
#include <math.h>
#include <string.h>

#include "base/stage.h"
#include "run/runner.h"
#include "run/sampler.h"
#include "run/shots.h"
#include "trace/stream.h"

enum { MAX_SAMPLES = 400000, MAX_FAKE_SAMPLES = 4096, MAX_WARM_UP = 512, MAX_SENSOR_ROUNDS = 1024, SAMPLES_AT_ONCE = 4096 };
#define APPEND_NS   100e6 /* between two appends to the trace file */
#define PROGRESS_NS 50e6
#define SENSORS_NS  10e6 /* between two readings at the ends of samples */
#define SETTLE_NS   1e6  /* a longer run warms its own caches */

uint64_t as_runner_now(const as_runner *r) { return as_clock_now(&r->env->clock) - r->trace->start_ticks; }

/* --- The candidate ------------------------------------------------------------------------------------------- */

static assay_status call_only(assay_env *env, void *self)
{
    as_runner *r = self;
    return as_instance_step(AS_RUN(env), r->instance);
}

/* The end of a run is the beginning of the next: this halves the stamps, and the runs tile the sample. */
static assay_status call_record(assay_env *env, void *self)
{
    as_runner         *r = self;
    const as_recorder *recorder = &r->recorder;
    int                n_marked = recorder->detail >= AS_DETAIL_SEGMENT ? recorder->n_rings : 1;
    for (int k = 0; k < n_marked; k++)
        recorder->rings[k].run = r->run;
    AS_TRY(as_instance_step(AS_RUN_WITH(env, recorder->detail >= AS_DETAIL_SEGMENT ? recorder : NULL), r->instance));
    uint64_t end = as_clock_now(&env->clock);
    as_ring_add(&recorder->rings[0], AS_SPAN_RUN, -1, r->last, end);
    r->last = end;
    r->run++;
    return ASSAY_OK;
}

static void warm_up_keep(as_runner *r, uint64_t begin, uint64_t end, uint32_t n_runs)
{
    as_trace_add_warmup(r->trace, &(as_sample){.begin_ticks = begin - r->trace->start_ticks,
                                               .end_ticks = end - r->trace->start_ticks,
                                               .cpu_ns = UINT64_MAX,
                                               .first_run = r->n_warm_up,
                                               .n_runs = n_runs});
    r->n_warm_up += n_runs;
}

static assay_status launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    as_runner *r = self;
    (void)seed;
    for (int i = 0; i < 3; i++) { /* one by one: each is a sample of the warm-up */
        as_shot   shot;
        as_sample sample = {0}; /* gcc does not see that as_shots_take() fills it */
        uint32_t  switches;
        AS_TRY(as_shots_take(env, "run", call_only, r, false, 1, 1, (as_stamps){.samples = &sample}, &shot, &switches));
        info->first_ns[i] = as_clock_ns(&env->clock, sample.end_ticks - sample.begin_ticks);
        warm_up_keep(r, sample.begin_ticks, sample.end_ticks, 1);
    }
    r->trace->first_run_ns = info->first_ns[0];
    return ASSAY_OK;
}

/* Puts what a block measured into the trace: for the warm-up its sum, later every sample and the contents of the rings. */
static void block_keep(as_runner *r, as_sample *samples, uint32_t n)
{
    assay_trace *t = r->trace;
    if (!r->measures) {
        uint32_t n_runs = 0;
        for (uint32_t i = 0; i < n; i++)
            n_runs += samples[i].n_runs;
        warm_up_keep(r, samples[0].begin_ticks, samples[n - 1].end_ticks, n_runs);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        samples[i].begin_ticks -= t->start_ticks;
        samples[i].end_ticks -= t->start_ticks;
        samples[i].first_run = (uint32_t)t->n_runs;
        as_trace_add_sample(t, &samples[i]);
        t->n_runs += samples[i].n_runs;
    }
    as_runner_drain(r, false);
}

static assay_status block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches)
{
    as_runner   *r = self;
    as_sample    samples[AS_BLOCK_MAX_SAMPLES];
    assay_status status;
    bool         records = r->measures && r->records_runs;
    (void)warm; /* an untimed run comes first only after housekeeping */
    if (r->disturbed && !r->fake && r->run_ns < SETTLE_NS)
        AS_TRY(call_only(env, r));
    r->disturbed = false;
    r->run = (uint32_t)r->trace->n_runs;
    if (records)
        status = as_shots_take(env, "run", call_record, r, r->reads_cpu, calls, n, (as_stamps){samples, &r->last}, shots, switches);
    else
        status = as_shots_take(env, "run", call_only, r, r->reads_cpu, calls, n, (as_stamps){.samples = samples}, shots, switches);
    if (status == ASSAY_OK)
        block_keep(r, samples, n);
    else if (records)
        as_runner_forget(r);
    return status;
}

static void stay(void *self) { (void)self; }

/* --- Between blocks ------------------------------------------------------------------------------------ */

typedef struct chores {
    as_runner       *r;
    as_sensors      *sensors;
    as_trace_writer *file;
    uint64_t         appended, told, read; /* when these were last done, in ticks */
    uint64_t        *live;                 /* bytes of each device, as last recorded */
} chores;

/* The bytes that the devices hold, as an event each time they change. */
static void memory_record(as_runner *r, chores *c)
{
    const assay_plan *plan = r->instance->plan;
    char              name[64];
    for (int d = 0; c->live && d < plan->n_devices; d++) {
        uint64_t live = plan->devices[d]->live_bytes;
        if (live == c->live[d])
            continue;
        c->live[d] = live;
        snprintf(name, sizeof name, AS_METRIC_LIVE "%.40s", plan->devices[d]->name);
        as_trace_add_metric(
            r->trace,
            &(as_trace_metric){
                .name = name, .unit = "byte", .step = r->trace->n_runs, .ticks = as_runner_now(r), .value = (double)live});
        r->disturbed = true;
    }
}

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

static size_t most_samples(const as_runner *r) { return r->fake && !r->settings->n_runs ? MAX_FAKE_SAMPLES : MAX_SAMPLES; }

/* Makes room for the samples of the next block, several blocks at a time; touches every page here. */
static assay_status samples_reserve(as_runner *r)
{
    assay_trace *t = r->trace;
    if (t->cap_samples - t->n_samples >= AS_BLOCK_MAX_SAMPLES)
        return ASSAY_OK;
    if (!as_trace_reserve(t, 0, t->n_samples + SAMPLES_AT_ONCE, 0, 0))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for more than %zu samples", t->n_samples);
    r->disturbed = true;
    return ASSAY_OK;
}

static assay_status chores_do(void *arg, double done)
{
    chores    *c = arg;
    as_runner *r = c->r;
    atomic_store_explicit(&r->env->stake, AS_STAKE_HELD, memory_order_relaxed); /* from here on, stopping keeps what was measured */
    size_t room = r->trace->cap_readings - r->trace->n_readings;
    /* Keep space for one last reading: every difference needs it. */
    if (room >= 2 * as_sensors_n_values(c->sensors) && as_sensors_n_values(c->sensors) &&
        is_due(r, &c->read, r->fake ? 0 : SENSORS_NS)) {
        sensors_read(r, c, true);
        r->disturbed = true;
    }
    if (c->file && is_due(r, &c->appended, APPEND_NS)) {
        AS_TRY(as_trace_writer_append(r->env, c->file, r->trace));
        r->disturbed = true;
    }
    if (r->env->progress && is_due(r, &c->told, PROGRESS_NS)) {
        as_stage_done(r->env, done);
        r->disturbed = true;
    }
    memory_record(r, c);
    return samples_reserve(r);
}

static bool is_full(void *arg, const assay_trace *t)
{
    const chores *c = arg;
    return t->n_samples + AS_BLOCK_MAX_SAMPLES > most_samples(c->r) || t->n_runs >= UINT32_MAX / 2;
}

/* After the warm-up: chooses the detail of the recording, makes its rings, and reads all sensors for the first time. */
static assay_status samples_begin(void *arg, double call_ns, uint32_t block_calls)
{
    chores      *c = arg;
    as_runner   *r = c->r;
    assay_trace *t = r->trace;
    r->run_ns = call_ns;
    AS_TRY(as_runner_choose_detail(r));
    AS_TRY(as_runner_make_rings(r, t->detail, r->records_runs ? block_calls : 1));
    if (!as_trace_reserve(t, 0, SAMPLES_AT_ONCE, 0, (MAX_SENSOR_ROUNDS + 2) * as_sensors_n_values(c->sensors)))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for samples");
    r->allocs = as_runner_allocs(r);
    r->measures = r->disturbed = true;
    as_stage_begin(r->env, AS_PHASE_MEASURE, t->name, r->settings->n_runs ? (double)NAN : (double)r->settings->time_ns / 1e9, 0);
    sensors_read(r, c, false);
    return ASSAY_OK;
}

/* One run with all its steps, after the samples; *slow: something interrupted it. */
static assay_status detail_take(as_runner *r, uint32_t run, double bound_ns, bool *slow)
{
    as_shot  shot = {0};
    uint32_t switches = 0;
    r->run = run;
    assay_status status =
        as_shots_take(r->env, "run", call_record, r, false, 1, 1, (as_stamps){.last = &r->last}, &shot, &switches);
    if (status != ASSAY_OK) {
        as_runner_forget(r);
        return status;
    }
    as_runner_drain(r, true);
    *slow = shot.wall_ns > bound_ns;
    return ASSAY_OK;
}

static double ns_since(const as_runner *r, uint64_t begin) { return as_clock_ns(&r->env->clock, as_runner_now(r) - begin); }

/* A pause, in which a neighbour may go away. */
static assay_status neighbour_wait(as_runner *r, double ns)
{
    uint64_t begin = as_runner_now(r);
    while (ns_since(r, begin) < ns && !as_cancelled(r->env))
        AS_TRY(call_only(r->env, r));
    return ASSAY_OK;
}

as_pace_next as_pace_step(as_pace *p, bool slow)
{
    enum { SLOW_IN_A_ROW = 8 };
    p->n++;
    p->n_good += !slow;
    p->n_slow = slow ? p->n_slow + 1 : 0;
    if (p->n_good == p->wanted || p->n == AS_PACE_MOST * p->wanted)
        return AS_PACE_STOP;
    if (p->n_slow < SLOW_IN_A_ROW)
        return AS_PACE_GO;
    p->n_slow = 0;
    return AS_PACE_PAUSE;
}

/* Runs after the last sample with all their steps, when recording them in the samples costs too much.  At most a tenth of the
 * time. */
static assay_status details_take(as_runner *r)
{
    enum { PAUSES = 32 };
    const as_run_settings *s = r->settings;
    assay_trace           *t = r->trace;
    if (s->detail < AS_DETAIL_STEP || (t->detail >= AS_DETAIL_STEP && r->records_runs))
        return ASSAY_OK;
    AS_TRY(as_runner_make_rings(r, AS_DETAIL_STEP, 1));
    uint64_t     spans = as_runner_spans(r, AS_DETAIL_STEP), begin = as_runner_now(r), first = t->n_runs;
    double       bound_ns = as_trace_run_bound_ns(t) + as_trace_spans_ns(t, spans), tenth_ns = (double)s->time_ns / 10;
    as_pace      pace = {.wanted = r->kept_runs};
    as_pace_next next = pace.wanted ? AS_PACE_GO : AS_PACE_STOP;
    if (!as_trace_reserve(t, AS_PACE_MOST * r->kept_runs * spans, 0, 0, 0))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for the spans of %llu runs",
                       (unsigned long long)AS_PACE_MOST * r->kept_runs);
    while (next != AS_PACE_STOP && first + pace.n < UINT32_MAX && !as_cancelled(r->env)) {
        bool slow;
        if (next == AS_PACE_PAUSE)
            AS_TRY(neighbour_wait(r, tenth_ns / PAUSES));
        AS_TRY(detail_take(r, (uint32_t)(first + pace.n), bound_ns, &slow));
        next = as_pace_step(&pace, slow);
        t->n_detailed = pace.n;
        if (ns_since(r, begin) > tenth_ns)
            break;
    }
    return ASSAY_OK;
}

/* --- The measurement ----------------------------------------------------------------------------------- */

uint64_t as_runner_allocs(const as_runner *r)
{
    const assay_plan *plan = r->instance->plan;
    uint64_t          n = 0;
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
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for the totals of %zu steps", t->n_steps);
    if (!as_trace_reserve(t, 0, 0, MAX_WARM_UP, 0))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for the samples of the warm-up");
    AS_TRY(as_sensors_describe(r->env, c->sensors, t));
    c->live = AS_TAKE(&r->arena, uint64_t, r->instance->plan->n_devices);
    r->taken = AS_TAKE(&r->arena, uint64_t, r->instance->plan->n_devices);
    if (!c->live || !r->taken)
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for the counts of %d devices",
                       r->instance->plan->n_devices);
    for (int d = 0; d < r->instance->plan->n_devices; d++)
        r->taken[d] = r->instance->host_is_lent && d == 0 ? 0 : r->instance->memory[d].bytes;
    memory_record(r, c);
    if (r->settings->trace_path)
        AS_TRY(as_trace_writer_open(r->env, r->settings->trace_path, t, &c->file));
    if (r->reads_cpu)
        t->cpu_clock_cost_ns = as_clock_cost_ns(as_thread_cpu_ns);
    return ASSAY_OK;
}

static assay_status samples_take(as_runner *r, chores *c)
{
    const as_run_settings *settings = r->settings;
    as_sampler_settings    how;
    as_arm                 arm = {.name = r->trace->name,
                                  .what = "",
                                  .self = r,
                                  .by_cpu = r->reads_cpu,
                                  .launch = launch,
                                  .block = block,
                                  .land = stay,
                                  .drop = stay};
    as_sampler_defaults(&how);
    how.budget_ns = settings->time_ns;
    how.measure_ns = settings->time_ns ? settings->time_ns : 1;
    how.n_calls = settings->n_runs;
    how.by_wall = true;
    how.probes = false;
    how.cpu = -2; /* its threads are pinned one by one */
    how.ready = samples_begin;
    how.between = chores_do;
    how.enough = is_full;
    how.hook_arg = how.enough_arg = c;
    how.sample_ns = (double)settings->time_ns / (MAX_SAMPLES / 2);
    if (r->fake) { /* a simulated clock needs no warm-up, and resolves every run */
        how.warm_up = 0;
        how.calls = how.samples_a_block = 1;
    }
    return as_sampler_run(r->env, &arm, 1, &how, r->trace);
}

/* --- Threads that wait for each other -------------------------------------------------------------------- */

/* How often each thread was switched off its CPU, in the order of the parts. */
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

/* A stolen core shows as long waits and threads that were switched away; uneven work shows as waits alone. */
static void threads_note(const as_runner *r, const thread_counts *before, const thread_counts *after)
{
    long switches = 0;
    if (!has_threads(r))
        return;
    for (int i = 0; i < MAX_SEEN_THREADS; i++)
        switches += after->switches[i] - before->switches[i];
    r->trace->n_barriers = after->waits.n_barriers - before->waits.n_barriers;
    r->trace->n_late_waits = after->waits.n_late - before->waits.n_late;
    r->trace->thread_switches = switches > 0 ? (uint64_t)switches : 0;
}

/* The memory of the recording: the trace and the rings. */
static void records_note(as_runner *r)
{
    const assay_trace *t = r->trace;
    size_t             bytes = t->arena.bytes_used + r->arena.bytes_used + t->cap_spans * sizeof *t->spans +
                   t->cap_samples * sizeof *t->samples + t->cap_warmup * sizeof *t->warmup + t->cap_readings * sizeof *t->readings;
    as_trace_add_metric(
        r->trace,
        &(as_trace_metric){
            .name = AS_METRIC_RECORDS, .unit = "byte", .step = t->n_runs, .ticks = as_runner_now(r), .value = (double)bytes});
}

static assay_status measure(as_runner *r, chores *c)
{
    thread_counts before = {0}, after = {0};
    AS_TRY(prepare(r, c));
    as_stage_begin(r->env, AS_PHASE_WARM_UP, r->trace->name, (double)r->settings->time_ns / 10e9, 0);
    threads_read(r, &before);
    assay_status status = samples_take(r, c);
    if (!r->measures) /* ended before anything was measured */
        return status;
    if (status == ASSAY_OK || status == ASSAY_CANCELLED)
        sensors_read(r, c, false);
    records_note(r);
    threads_read(r, &after);
    threads_note(r, &before, &after);
    r->trace->steady_allocs = as_runner_allocs(r) - r->allocs;
    return status == ASSAY_OK ? details_take(r) : status;
}

/* If a step was faster than its limit, the limit is measured again here, before anything is judged. */
static assay_status limits_recheck(const as_runner *r)
{
    const assay_plan *plan = r->instance->plan;
    as_roof_settings  how = {.n_threads = 1};
    if (r->settings->roofs == AS_RUN_ROOFS_OFF)
        return ASSAY_OK;
    return as_roofs_recheck(r->env, &how, plan->devices, plan->n_devices, r->trace, NULL);
}

/* Whatever ended the measurement, a trace that holds something is finished properly. */
static assay_status finish(as_runner *r, chores *c, assay_status status)
{
    bool cancelled = status == ASSAY_CANCELLED;
    r->trace->peak_bytes_observed = as_instance_peak_bytes(r->instance);
    memory_record(r, c);
    if (!r->settings->keeps)
        as_instance_release(r->instance);
    if ((status == ASSAY_OK || cancelled) && !as_runner_record_memory(r, as_runner_now(r)))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: not enough memory for the memory events of the trace");
    if (c->file && (status == ASSAY_OK || cancelled)) {
        as_trace_writer *file = c->file;
        c->file = NULL;
        AS_TRY(as_trace_writer_close(r->env, file, r->trace));
    }
    if (status == ASSAY_OK)
        as_stage_done(r->env, 1);
    if (cancelled)
        return as_fail(r->env, ASSAY_CANCELLED, "run: stopped after %llu measured runs; the trace keeps what was measured",
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
    chores     c = {.r = &r};
    as_pinning pinning = {0};
    AS_TRY(as_run_sensors_open(env, settings, &c.sensors));
    if (settings->pin)
        as_pinning_do(&pinning, plan->devices[0], &r.arena);
    pin_note(trace, &pinning);
    assay_status status = measure(&r, &c);
    as_pinning_undo(&pinning);
    if (status == ASSAY_OK)
        status = limits_recheck(&r);
    status = finish(&r, &c, status);
    if (c.file)
        as_trace_writer_abandon(c.file);
    as_sensors_close(c.sensors);
    as_arena_drop(&r.arena);
    return status;
}

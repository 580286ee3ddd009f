/* function.c - a function of the caller's own as the one arm of a profile: no plan, no instance, one step that is the whole call. */
#include <math.h>
#include <string.h>

#include "base/cpus.h"
#include "base/stage.h"
#include "base/text.h"
#include "run/runner.h"
#include "run/sampler.h"
#include "run/shots.h"

enum { MAX_SAMPLES = 200000, SAMPLES_AT_ONCE = 4096, MAX_WARM_UP = 512 };

typedef struct work {
    assay_env             *env;
    const as_function     *f;
    const as_run_settings *settings;
    assay_trace           *t;
    as_sensors            *sensors;
    bool                   measures;
    uint32_t               n_warm_up;
} work;

static assay_status call(assay_env *env, void *self)
{
    const work *w = self;
    (void)env;
    w->f->run(w->f->arg);
    return ASSAY_OK;
}

static uint64_t now(const work *w) { return as_clock_now(&w->env->clock) - w->t->start_ticks; }

static void warm_up_keep(work *w, const as_sample *s, uint32_t n)
{
    as_trace_add_warmup(w->t, &(as_sample){.begin_ticks = s[0].begin_ticks - w->t->start_ticks,
                                           .end_ticks = s[n - 1].end_ticks - w->t->start_ticks,
                                           .cpu_ns = UINT64_MAX,
                                           .first_run = w->n_warm_up,
                                           .n_runs = n * s[0].n_runs});
    w->n_warm_up += n * s[0].n_runs;
}

static assay_status launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    work *w = self;
    (void)seed;
    AS_TRY(as_first_calls(env, call, w, info->first_ns));
    w->t->first_run_ns = info->first_ns[0];
    return ASSAY_OK;
}

static void samples_keep(work *w, const as_sample *samples, uint32_t n)
{
    assay_trace *t = w->t;
    for (uint32_t i = 0; i < n; i++) {
        as_sample s = samples[i];
        s.begin_ticks -= t->start_ticks;
        s.end_ticks -= t->start_ticks;
        s.first_run = (uint32_t)t->n_runs;
        as_trace_add_sample(t, &s);
        t->n_runs += s.n_runs;
    }
}

static assay_status block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches)
{
    work     *w = self;
    as_sample samples[AS_BLOCK_MAX_SAMPLES];
    if (warm)
        AS_TRY(call(env, w));
    AS_TRY(as_shots_take(env, w->f->name, call, w, true, calls, n, (as_stamps){.samples = samples}, shots, switches));
    if (w->measures)
        samples_keep(w, samples, n);
    else
        warm_up_keep(w, samples, n);
    return ASSAY_OK;
}

static void stay(void *self) { (void)self; }

static assay_status begin(void *arg, double call_ns, uint32_t block_calls)
{
    work *w = arg;
    (void)call_ns, (void)block_calls;
    if (!as_trace_reserve(w->t, 0, SAMPLES_AT_ONCE, 0, 4 * as_sensors_n_values(w->sensors)))
        return as_fail(w->env, ASSAY_NO_MEMORY, "run: not enough memory for samples");
    w->measures = true;
    as_stage_begin(w->env, AS_PHASE_MEASURE, w->t->name, w->settings->n_runs ? (double)NAN : (double)w->settings->time_ns / 1e9, 0);
    as_sensors_read(w->sensors, false, now(w), 0, w->t);
    return ASSAY_OK;
}

static assay_status between(void *arg, double done)
{
    work        *w = arg;
    assay_trace *t = w->t;
    atomic_store_explicit(&w->env->stake, AS_STAKE_HELD, memory_order_relaxed);
    as_stage_done(w->env, done);
    if (t->cap_samples - t->n_samples < AS_BLOCK_MAX_SAMPLES && !as_trace_reserve(t, 0, t->n_samples + SAMPLES_AT_ONCE, 0, 0))
        return as_fail(w->env, ASSAY_NO_MEMORY, "run: not enough memory for more than %zu samples", t->n_samples);
    return ASSAY_OK;
}

static bool is_full(void *arg, const assay_trace *t)
{
    (void)arg;
    return t->n_samples + AS_BLOCK_MAX_SAMPLES > MAX_SAMPLES;
}

static assay_status samples_take(work *w)
{
    as_sampler_settings how;
    as_arm              arm = {
                     .name = w->t->name, .what = "", .self = w, .by_cpu = true, .launch = launch, .block = block, .land = stay, .drop = stay};
    as_sampler_defaults(&how);
    how.budget_ns = w->settings->time_ns;
    how.measure_ns = w->settings->time_ns ? w->settings->time_ns : 1;
    how.n_calls = w->settings->n_runs;
    how.by_wall = true;
    how.probes = false;
    how.cpu = w->settings->pin ? -1 : -2;
    how.ready = begin;
    how.between = between;
    how.enough = is_full;
    how.hook_arg = how.enough_arg = w;
    how.sample_ns = (double)w->settings->time_ns / (MAX_SAMPLES / 2);
    return as_sampler_run(w->env, &arm, 1, &how, w->t);
}

/* The caller's function is taken to run on one thread of the CPU: its limits stand beside it. */
static assay_status limits_add(work *w)
{
    as_device       *cpu;
    as_roof_settings how = {.n_threads = 1};
    if (w->settings->roofs == AS_RUN_ROOFS_OFF)
        return ASSAY_OK;
    AS_TRY(as_device_open(w->env, "cpu", 1, &cpu));
    assay_status status = as_roofs_add(w->env, as_run_roofs_how(w->settings->roofs), &how, &cpu, 1, w->t);
    as_device_close(cpu);
    return status;
}

static assay_status describe(work *w)
{
    assay_trace       *t = w->t;
    const as_function *f = w->f;
    char               date[AS_DATE_BYTES];
    as_date_text(date, sizeof date, (int64_t)(t->start_unix_ns / 1000000000u), AS_DATE_ISO);
    t->model = t->name = as_trace_keep(t, f->name);
    t->device = as_trace_keep(t, "cpu");
    t->threads = 1;
    t->cpus = as_cpu_count();
    t->batch = f->items;
    as_trace_step step = {.name = f->name,
                          .op = "function",
                          .device = "cpu",
                          .kernel = "",
                          .module = "",
                          .why = "the caller's own function",
                          .shapes = "",
                          .stage = "body",
                          .flops = f->flops,
                          .bytes_read = f->bytes,
                          .working_set_bytes = f->bytes};
    bool          ok = t->model && t->device && as_trace_add_note(t, "model.name", "%s", f->name) &&
              as_trace_add_note(t, "model.source", "a function of the caller's own") &&
              as_trace_add_note(t, "run.started", "%s", date) && (!f->stated || as_trace_add_step(t, &step) >= 0);
    if (!ok)
        return as_fail(w->env, ASSAY_NO_MEMORY, "run: not enough memory to describe '%s'", f->name);
    as_machine_describe(w->env, t);
    if (w->settings->asks_ne)
        as_trace_add_metric(t, &(as_trace_metric){.name = AS_METRIC_ASKED_NE, .unit = "1", .value = 1});
    AS_TRY(limits_add(w));
    t->totals = AS_TAKE(&t->arena, as_step_total, t->n_steps + 1);
    t->n_totals = t->n_steps;
    if (!t->totals || !as_trace_reserve(t, 0, 0, MAX_WARM_UP, 0))
        return as_fail(w->env, ASSAY_NO_MEMORY, "run: not enough memory for the samples of '%s'", f->name);
    return as_sensors_describe(w->env, w->sensors, t);
}

static assay_status measure(work *w)
{
    AS_TRY(describe(w));
    if (w->settings->tracks_unified && !as_resident_peak_reset())
        as_trace_add_note(w->t, "run.track_unified", "the system cannot count the peak anew: it is that of the whole process");
    as_stage_begin(w->env, AS_PHASE_WARM_UP, w->t->name, (double)w->settings->time_ns / 10e9, 0);
    assay_status status = samples_take(w);
    if (w->measures && (status == ASSAY_OK || status == ASSAY_CANCELLED))
        as_sensors_read(w->sensors, false, now(w), w->t->n_samples ? (uint32_t)(w->t->n_samples - 1) : 0, w->t);
    return status;
}

assay_status as_run_function(assay_env *env, const as_function *function, const as_run_settings *settings, assay_trace **out)
{
    work w = {.env = env, .f = function, .settings = settings};
    AS_TRY(as_trace_new_arms(env, function->name, 1, &w.t));
    assay_status status = as_run_sensors_open(env, settings, &w.sensors);
    if (status == ASSAY_OK)
        status = measure(&w);
    as_sensors_close(w.sensors);
    if (status == ASSAY_OK && settings->trace_path)
        status = assay_trace_save(env, w.t, settings->trace_path);
    if (status == ASSAY_OK || (status == ASSAY_CANCELLED && w.t->n_runs))
        *out = w.t;
    else
        assay_trace_free(w.t);
    return status;
}

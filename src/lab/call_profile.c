/* call_profile.c - a profile from a model, or from a function, to facts: with what Winograd costs in accuracy, what compiling gains, and the keys of
 * profiling guides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/trace/profile_keys.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/calls.h"
#include "lab/compile.h"
#include "lab/profile.h"
#include "run/run.h"

#define QUICK_RUNS 100

/* A section alone reads the sensors that it is made of, and times no finer than it shows; what the user set stays. */
static void section_narrow(const assay_options *options, as_profile_how *h)
{
    static const struct {
        unsigned    section;
        const char *sensors;
        bool        runs_only;
    } narrow[] = {{AS_KEYS_COMPUTE, "perf,cputime,rusage,steal", true}, {AS_KEYS_MEMORY, "memory,perf,cputime,steal", true}};
    for (size_t i = 0; i < AS_COUNT(narrow); i++) {
        if (h->sections != narrow[i].section)
            continue;
        if (!as_options_is_set(options, "sensors"))
            h->run.sensors = narrow[i].sensors;
        if (!as_options_is_set(options, "detail") && narrow[i].runs_only)
            h->run.detail = AS_DETAIL_RUN;
    }
}

static const char *const train_keys[] = {AS_TRAIN_SETUP_KEYS, NULL};

/* With --compile both the profile is of the compiled plan, and the other takes turns with it afterwards, for as long again. */
assay_status as_profile_how_read(assay_env *env, const assay_options *options, unsigned sections, bool quick, as_profile_how *h)
{
    *h = (as_profile_how){.sections = sections, .quick = quick};
    AS_TRY(as_plan_options_read(env, options, &h->plan));
    AS_TRY(as_run_settings_read(env, options, &h->run));
    AS_TRY(as_train_setup_read(env, options, &h->train));
    h->trains = as_options_flag(options, "train");
    for (int i = 0; train_keys[i] && !h->trains; i++)
        if (as_options_is_set(options, train_keys[i]))
            return as_fail(env, ASSAY_BAD_INPUT, "profile: --%s is for a training step: add --train", train_keys[i]);
    AS_TRY(as_lab_settings_read(env, options, NULL, &h->lab));
    AS_TRY(as_keep_options_read(env, options, &h->store));
    h->both = h->plan.compile == AS_PLAN_BOTH;
    if (h->both)
        h->plan.compile = AS_PLAN_COMPILED;
    h->lab.early = false; /* a narrow interval is wanted, not only a verdict */
    h->lab.sampler.budget_ns = h->run.time_ns;
    h->lab.sampler.n_rounds = 0; /* --runs applies to the profile */
    h->lab.timeout_ns = 0;
    h->batches = as_options_text(options, "batches");
    h->cachegrind = as_options_text(options, "counters") != NULL;
    h->time_is_set = as_options_is_set(options, "time");
    h->interval_ns = as_options_duration_ns(options, "interval");
    const char *only = as_options_text(options, "only");
    if (!h->sections)
        h->sections = !only                      ? AS_KEYS_ALL
                      : !strcmp(only, "compute") ? AS_KEYS_COMPUTE
                      : !strcmp(only, "memory")  ? AS_KEYS_MEMORY
                                                 : AS_KEYS_HARDWARE;
    section_narrow(options, h);
    if (h->quick && !as_options_is_set(options, "runs") && !h->time_is_set)
        h->run.n_runs = QUICK_RUNS;
    if (h->quick && !as_options_is_set(options, "roofs"))
        h->run.roofs = AS_RUN_ROOFS_LOOK;
    return ASSAY_OK;
}

static bool planned_add(assay_env *env, const assay_model *model, const as_plan_options *options, const char *option, uint64_t step,
                        as_run_settings *run)
{
    assay_plan *plan = NULL;
    if (run->n_planned == AS_RUN_MAX_PLANNED || as_plan_build(env, model, options, &plan) != ASSAY_OK)
        return false; /* the model does not take it: there is nothing to tell */
    run->planned[run->n_planned++] = (as_run_planned){option, step, assay_plan_peak_bytes(plan)};
    assay_plan_free(plan);
    return true;
}

/* The peak with half the batch size and with narrower weights, as the planner counts it: what the report says about both is then no guess.
 * Only on the host: another device would compile all its kernels again. */
static void planned_make(assay_env *env, const assay_model *model, const assay_plan *plan, const as_profile_how *h,
                         as_run_settings *run)
{
    int64_t batch = 0;
    for (int i = 0; i < plan->n_dims; i++)
        batch = !strcmp(plan->dims[i].symbol, "batch") ? plan->dims[i].size : batch;
    if (plan->n_devices != 1)
        return;
    as_plan_options other = h->plan;
    if (batch >= 2 && !h->plan.inputs.n && !h->plan.dims.n) {
        other.batch = batch / 2;
        other.batch_is_set = true;
        planned_add(env, model, &other, "batch", (uint64_t)other.batch, run);
    }
    other = h->plan;
    if (plan->compiled && !strcmp(plan->weights_as, "f32")) {
        other.weights_as = "f16";
        planned_add(env, model, &other, "weights-as=f16", 0, run);
    }
}

/* What is profiled: a network, or its training step. */
typedef struct subject {
    assay_plan     *plan;
    as_train_graph *train; /* NULL: a network */
} subject;

static void subject_drop(subject *s)
{
    assay_plan_free(s->plan);
    as_train_graph_free(s->train);
}

static assay_status subject_make(assay_env *env, const assay_model *model, const as_profile_how *h, const as_plan_options *options,
                                 subject *out)
{
    *out = (subject){NULL, NULL};
    if (!h->trains)
        return as_plan_build(env, model, options, &out->plan);
    AS_TRY(as_train_plan_new(env, model, &h->train, options, &out->train, &out->plan));
    assay_status status = as_train_plan_ready(env, out->train, options->seed, out->plan);
    if (status != ASSAY_OK)
        subject_drop(out);
    return status;
}

static assay_status both_run(assay_env *env, const assay_model *model, const assay_plan *plan, const as_profile_how *h,
                             assay_trace **out)
{
    subject         off;
    as_plan_options other = h->plan;
    other.compile = AS_PLAN_OP_BY_OP;
    AS_TRY(subject_make(env, model, h, &other, &off));
    assay_status status = as_lab_compile(env, plan, off.plan, h->run.pin, &h->lab, out);
    subject_drop(&off);
    return status;
}

static assay_status facts_make(assay_env *env, const assay_trace *trace, assay_trace **trial, const as_lab_settings *lab,
                               assay_facts **out)
{
    assay_facts *f;
    AS_TRY(assay_analyse(env, trace, &f));
    if (*trial) {
        as_compile_add(f, *trial, &lab->rules);
        as_trials_give(f, trial, 1, lab);
    }
    return as_facts_done(f, out);
}

/* The profile, and the turns of --compile both after it. */
static assay_status facts_keep(assay_env *env, const as_profile_how *h, const assay_trace *trace, assay_facts *f)
{
    const assay_trace *records[2] = {trace, f->n_trials ? f->trials[0] : NULL};
    int64_t            id;
    return as_lab_keep(env, &h->store, "profile", trace->name, records, f->n_trials ? 2 : 1, f, &id);
}

/* The measurement may be incomplete. */
static assay_status whole(assay_env *env, assay_status measured, const assay_trace *trace, uint64_t n_runs, as_trace_state state,
                          const char *reason)
{
    if (measured == ASSAY_CANCELLED && n_runs)
        return as_fail(env, measured, "stopped: %llu of %llu runs are kept", (unsigned long long)trace->n_runs,
                       (unsigned long long)n_runs);
    if (measured == ASSAY_CANCELLED)
        return as_fail(env, measured, "stopped: %llu runs are kept", (unsigned long long)trace->n_runs);
    return state == AS_TRACE_COMPLETE ? ASSAY_OK : as_fail(env, ASSAY_DEVICE, "%s", reason);
}

/* --- Keys ------------------------------------------------------------------------------------------------------ */

void as_profile_sections_keep(assay_facts *f, unsigned sections)
{
    static const struct {
        unsigned    bit;
        const char *group;
    } groups[] = {{AS_KEYS_COMPUTE, AS_PROFILE_PREFIX "compute"},
                  {AS_KEYS_MEMORY, AS_PROFILE_PREFIX "memory"},
                  {AS_KEYS_HARDWARE, AS_PROFILE_PREFIX "hardware"},
                  {AS_KEYS_STREAM, AS_PROFILE_PREFIX "stream"}};
    for (size_t i = 0; i < AS_COUNT(groups); i++)
        if (!(sections & groups[i].bit))
            as_facts_group_drop(f, groups[i].group);
}

/* --- A model ----------------------------------------------------------------------------------------------------- */

static assay_status model_profile(assay_env *env, const assay_model *model, const as_profile_how *h, assay_facts **out)
{
    subject      s;
    assay_trace *trace = NULL, *trial = NULL;
    if (h->trains && h->cachegrind)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: --counters counts runs of a network, not training steps: leave out --train");
    as_stage_begin(env, AS_PHASE_PLAN, "", (double)NAN, 0);
    AS_TRY(subject_make(env, model, h, &h->plan, &s));
    assay_plan     *plan = s.plan;
    as_run_settings run = h->run;
    if (!h->trains)
        planned_make(env, model, plan, h, &run);
    assay_status measured = as_run_profile(env, plan, &run, h->plan.seed, &trace), status = measured;
    if (trace && s.train && (status == ASSAY_OK || status == ASSAY_CANCELLED)) {
        assay_status noted = as_train_note(env, s.train, plan, trace);
        status = noted == ASSAY_OK ? status : noted;
    }
    if (status == ASSAY_OK && plan->winograd && !h->trains)
        status = as_run_winograd_note(env, plan, &h->plan, h->plan.seed, trace);
    if (status == ASSAY_OK && h->cachegrind)
        status = as_cachegrind_add(env, model, plan, &h->plan, trace);
    if (status == ASSAY_OK && h->both)
        measured = status = both_run(env, model, plan, h, &trial);
    if (status == ASSAY_CANCELLED && trace && trace->n_runs)
        status = ASSAY_OK; /* what was measured is stored; the status still says incomplete */
    as_trace_state state = trial ? trial->state : AS_TRACE_COMPLETE;
    const char    *reason = trial ? trial->reason : "";
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    if (status == ASSAY_OK)
        status = facts_make(env, trace, &trial, &h->lab, out);
    bool made = status == ASSAY_OK;
    if (status == ASSAY_OK) {
        as_profile_sections_keep(*out, h->sections);
        status = facts_keep(env, h, trace, *out);
    }
    if (status == ASSAY_OK)
        status = whole(env, measured, trace, h->run.n_runs, state, reason);
    if (made) { /* whoever asked may want to export it */
        (*out)->record = trace;
        trace = NULL;
    }
    assay_trace_free(trial);
    assay_trace_free(trace);
    subject_drop(&s);
    return status;
}

/* --- A function ---------------------------------------------------------------------------------------------------- */

/* What one run of the model does by definition: for a function that computes it and states nothing itself. */
static assay_status work_of(assay_env *env, const assay_model *model, const as_plan_options *options, as_function *f)
{
    assay_plan *plan;
    AS_TRY(as_plan_build(env, model, options, &plan));
    for (int i = plan->n_prologue; i < plan->n_steps; i++) {
        const as_cost *c = &plan->steps[i].cost;
        f->flops += c->flops;
        f->bytes += c->bytes_read + c->bytes_written;
    }
    f->stated = "the model's operators";
    assay_plan_free(plan);
    return ASSAY_OK;
}

static bool is_count(double x) { return x >= 0 && x < 0x1p63; }

static assay_status forward_read(assay_env *env, const assay_model *model, const assay_forward *forward, const as_profile_how *h,
                                 as_function *out)
{
    if (!forward->run)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: the function to measure is NULL");
    if (!is_count(forward->flops) || !is_count(forward->bytes))
        return as_fail(env, ASSAY_BAD_INPUT, "profile: '%s' states %g flops and %g bytes, which is not a count",
                       forward->name ? forward->name : "function", forward->flops, forward->bytes);
    *out = (as_function){.name = forward->name && *forward->name ? forward->name : "function",
                         .run = forward->run,
                         .arg = forward->arg,
                         .items = forward->items ? forward->items : (uint64_t)h->plan.batch,
                         .flops = (uint64_t)forward->flops,
                         .bytes = (uint64_t)forward->bytes,
                         .stated = forward->flops > 0 || forward->bytes > 0 ? "the caller" : NULL};
    return out->stated || !model ? ASSAY_OK : work_of(env, model, &h->plan, out);
}

static assay_status function_profile(assay_env *env, const assay_model *model, const assay_forward *forward,
                                     const as_profile_how *h, assay_facts **out)
{
    as_function  f;
    assay_trace *trace = NULL, *none = NULL;
    if (h->both)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "profile: compile is both, but a function of yours is compiled as it is: leave it out");
    if (h->cachegrind)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: counters takes a model: a child process cannot call a function of yours");
    AS_TRY(forward_read(env, model, forward, h, &f));
    assay_status measured = as_run_function(env, &f, &h->run, &trace), status = measured;
    if (status == ASSAY_CANCELLED && trace)
        status = ASSAY_OK;
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    if (status == ASSAY_OK)
        status = facts_make(env, trace, &none, &h->lab, out);
    if (status == ASSAY_OK) {
        as_profile_sections_keep(*out, h->sections);
        status = facts_keep(env, h, trace, *out);
    }
    if (status == ASSAY_OK)
        status = whole(env, measured, trace, h->run.n_runs, AS_TRACE_COMPLETE, "");
    assay_trace_free(trace);
    return status;
}

/* --- Batch sizes one after the other --------------------------------------------------------------------------------- */

static const char *const sweep_keys[] = {"compute.time_mean",          "compute.samples_per_second", "compute.tflops",
                                         "compute.compute_efficiency", "memory.bandwidth",           "memory.bandwidth_utilization",
                                         "memory.peak_usage"};
static const char *const sweep_columns[] = {"batch|batch size",
                                            "time_mean|time_mean",
                                            "samples_per_second|items/s",
                                            "tflops|tflops",
                                            "compute_efficiency|of the compute limit",
                                            "bandwidth|bandwidth",
                                            "bandwidth_utilization|of the memory limit",
                                            "peak_usage|peak_usage",
                                            NULL};

static void sweep_row(assay_facts *f, as_table *t, int64_t batch, const assay_facts *one)
{
    as_cell cells[AS_COUNT(sweep_keys) + 1] = {{.metric = as_metric_counted((uint64_t)batch, "1", "option batches")}};
    for (size_t i = 0; i < AS_COUNT(sweep_keys); i++) {
        char key[96];
        snprintf(key, sizeof key, AS_PROFILE_PREFIX "%s", sweep_keys[i]);
        const assay_metric *m = as_facts_metric(one, key);
        cells[i + 1].metric = m ? *m : as_metric_unavailable("1", "not analysed");
    }
    as_facts_row(f, t, cells);
}

enum { MAX_BATCHES = 64 };

static int batches_split(const char *list, int64_t *out)
{
    int n = 0;
    for (const char *at = list; *at && n < MAX_BATCHES;) {
        char   word[32];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
        if (as_parse_i64(word, &out[n]))
            n++;
        at += length;
        at += *at == ',';
    }
    return n;
}

/* Each size is a measurement of its own; what is compared to the percent belongs to `compare`, which takes turns. */
static assay_status sweep(assay_env *env, const assay_model *model, const as_profile_how *h, assay_facts **out)
{
    int64_t      batches[MAX_BATCHES];
    int          n = batches_split(h->batches, batches), n_done = 0;
    assay_facts *all[MAX_BATCHES] = {NULL};
    assay_status status =
        n ? ASSAY_OK : as_fail(env, ASSAY_BAD_INPUT, "profile: batches is '%s': expected sizes such as 32,64", h->batches);
    as_profile_how one = *h;
    one.batches = NULL;
    one.sections = AS_KEYS_ALL;
    one.plan.batch_is_set = true;
    for (; n_done < n && status == ASSAY_OK; n_done++) {
        one.plan.batch = batches[n_done];
        status = model_profile(env, model, &one, &all[n_done]);
    }
    if (all[0] && (status == ASSAY_OK || status == ASSAY_CANCELLED)) {
        as_fact_group *g = as_facts_group(all[0], AS_PROFILE_PREFIX "compute", "");
        as_table      *t = as_facts_table(all[0], g, "sweep", "Batch sizes, measured one after the other", sweep_columns);
        for (int i = 0; i < n_done && all[i]; i++)
            sweep_row(all[0], t, batches[i], all[i]);
        as_profile_sections_keep(all[0], h->sections | AS_KEYS_COMPUTE);
        if (all[0]->status == ASSAY_OK) {
            *out = all[0];
            all[0] = NULL;
        } else {
            status = all[0]->status;
        }
    }
    for (int i = 0; i < n; i++)
        assay_facts_free(all[i]);
    return status;
}

/* --- The calls ---------------------------------------------------------------------------------------------------------- */

assay_status as_profile(assay_env *env, const assay_model *model, const assay_forward *forward, const as_profile_how *h,
                        assay_facts **out)
{
    if (!model && !forward)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: neither a model nor a function was given");
    if (forward && h->batches)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: batches takes a model: a function of yours decides about its batch itself");
    if (forward)
        return function_profile(env, model, forward, h, out);
    return h->batches ? sweep(env, model, h, out) : model_profile(env, model, h, out);
}

static assay_status profile(assay_env *env, const assay_model *model, const assay_forward *forward, const assay_options *options,
                            unsigned sections, bool quick, assay_facts **out)
{
    as_profile_how h;
    AS_TRY(as_profile_how_read(env, options, sections, quick, &h));
    return as_profile(env, model, forward, &h, out);
}

assay_status assay_profile_model(assay_env *env, const assay_model *model, const assay_options *options, assay_facts **out)
{
    return profile(env, model, NULL, options, 0, as_options_flag(options, "quick"), out);
}

assay_status assay_profile_compute(assay_env *env, const assay_model *model, const assay_forward *forward,
                                   const assay_options *options, assay_facts **out)
{
    return profile(env, model, forward, options, AS_KEYS_COMPUTE, false, out);
}

assay_status assay_profile_memory(assay_env *env, const assay_model *model, const assay_forward *forward,
                                  const assay_options *options, assay_facts **out)
{
    return profile(env, model, forward, options, AS_KEYS_MEMORY, false, out);
}

assay_status assay_profile_hardware(assay_env *env, const assay_model *model, const assay_forward *forward,
                                    const assay_options *options, assay_facts **out)
{
    return profile(env, model, forward, options, AS_KEYS_HARDWARE, false, out);
}

assay_status assay_quick_profile(assay_env *env, const assay_model *model, const assay_forward *forward,
                                 const assay_options *options, assay_facts **out)
{
    return profile(env, model, forward, options, AS_KEYS_QUICK, true, out);
}

bool assay_profile_key(size_t i, const char **section, const char **key, const char **unit, const char **how)
{
    if (i >= as_n_profile_keys)
        return false;
    *section = as_profile_keys[i].section, *key = as_profile_keys[i].key;
    *unit = as_profile_keys[i].unit, *how = as_profile_keys[i].how;
    return true;
}

/* --- Again and again -------------------------------------------------------------------------------------------------------- */

typedef struct realtime {
    assay_env         *env;
    const assay_model *model;
    as_profile_how     h;
    as_function        function;
    bool               has_function;
    assay_instance    *instance;
    assay_update       update;
    void              *arg;
} realtime;

/* One interval: most of it is measured, the rest is for the analysis and for who shows it. */
static assay_status interval_measure(realtime *r, bool *go_on)
{
    assay_trace *trace = NULL;
    assay_facts *facts = NULL;
    assay_status status = r->has_function ? as_run_function(r->env, &r->function, &r->h.run, &trace)
                                          : as_run_profile_on(r->env, r->instance, &r->h.run, r->h.plan.seed, &trace);
    if (status == ASSAY_OK)
        status = assay_analyse(r->env, trace, &facts);
    if (status == ASSAY_OK) {
        as_profile_sections_keep(facts, r->h.sections);
        *go_on = r->update(r->arg, facts);
    }
    assay_facts_free(facts);
    assay_trace_free(trace);
    return status;
}

static assay_status intervals_run(realtime *r, uint64_t total_ns)
{
    uint64_t begin = as_clock_now(&r->env->clock);
    bool     go_on = true;
    for (uint64_t n = 1; go_on; n++) {
        AS_TRY(interval_measure(r, &go_on));
        double spent = as_clock_ns(&r->env->clock, as_clock_now(&r->env->clock) - begin),
               due = (double)n * (double)r->h.interval_ns;
        if (total_ns && fmax(spent, due) >= (double)total_ns)
            break;
        while (go_on && spent < due && !as_cancelled(r->env)) {
            double wait = fmin(due - spent, 20e6);
            nanosleep(&(struct timespec){0, (long)wait}, NULL);
            spent = as_clock_ns(&r->env->clock, as_clock_now(&r->env->clock) - begin);
        }
        if (go_on && as_cancelled(r->env))
            return as_fail(r->env, ASSAY_CANCELLED, "stopped after %llu updates", (unsigned long long)n);
    }
    return ASSAY_OK;
}

assay_status assay_profile_realtime(assay_env *env, const assay_model *model, const assay_forward *forward,
                                    const assay_options *options, assay_update update, void *arg)
{
    realtime r = {.env = env, .model = model, .has_function = forward != NULL, .update = update, .arg = arg};
    subject  s = {NULL, NULL};
    AS_TRY(as_profile_how_read(env, options, 0, true, &r.h));
    uint64_t total_ns = r.h.time_is_set ? r.h.run.time_ns : 0;
    if (!model && !forward)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: neither a model nor a function was given");
    if (!update)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: realtime needs a function that is told of every update");
    if (r.h.both || r.h.batches || r.h.cachegrind || r.h.run.trace_path)
        return as_fail(env, ASSAY_BAD_INPUT, "profile: realtime does not go together with %s",
                       r.h.both         ? "compile=both"
                       : r.h.batches    ? "batches"
                       : r.h.cachegrind ? "counters"
                                        : "trace");
    r.h.run.n_runs = as_options_is_set(options, "runs") ? r.h.run.n_runs : 0;
    r.h.run.time_ns = r.h.interval_ns * 7 / 10;
    assay_status status = ASSAY_OK;
    if (forward) {
        status = forward_read(env, model, forward, &r.h, &r.function);
    } else {
        status = subject_make(env, model, &r.h, &r.h.plan, &s);
        if (status == ASSAY_OK)
            status = assay_instance_new(env, s.plan, &r.instance);
    }
    if (status == ASSAY_OK)
        status = intervals_run(&r, total_ns);
    assay_instance_free(r.instance);
    subject_drop(&s);
    return status;
}

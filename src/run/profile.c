/* profile.c - from a plan to a trace: makes an instance, fills its inputs by seed, describes everything, then measures. */
#include <string.h>

#include "base/cpus.h"
#include "base/options.h"
#include "base/stage.h"
#include "base/text.h"
#include "run/sampler.h"
#include "run/run.h"

static assay_status notes_add(assay_env *env, const assay_plan *plan, const as_run_settings *settings, uint64_t seed,
                              assay_trace *t)
{
    const assay_model *model = plan->model;
    const as_device   *device = as_plan_wanted(plan);
    char               date[AS_DATE_BYTES];
    as_date_text(date, sizeof date, (int64_t)(t->start_unix_ns / 1000000000u), AS_DATE_ISO);
    t->model = as_trace_keep(t, model->name);
    t->device = as_trace_keep(t, device->name);
    t->threads = plan->devices[0]->n_threads;
    t->cpus = as_cpu_count();
    t->compile = plan->compiled ? "on" : "off";
    t->weights_as = as_trace_keep(t, plan->compiled ? plan->weights_as : "f32");
    for (int i = 0; i < plan->n_dims; i++)
        if (!strcmp(plan->dims[i].symbol, "batch"))
            t->batch = (uint64_t)plan->dims[i].size;
    bool ok =
        t->model && t->device && t->weights_as && as_trace_add_note(t, "model.name", "%s", model->name) &&
        as_trace_add_note(t, "model.source", "%s", model->source ? model->source : "") &&
        as_trace_add_note(t, "model.params", "%llu", (unsigned long long)as_model_param_count(model)) &&
        as_trace_add_note(t, "model.param_bytes", "%llu", (unsigned long long)as_model_param_bytes(model)) &&
        as_trace_add_note(t, "plan.device", "%s", device->name) && as_trace_add_note(t, "plan.device_text", "%s", device->text) &&
        as_trace_add_note(t, "plan.threads", "%d", plan->devices[0]->n_threads) &&
        as_trace_add_note(t, "plan.compile", "%s", plan->compiled ? "on" : "off") &&
        as_trace_add_note(t, "plan.weights_as", "%s", plan->compiled ? plan->weights_as : "f32") &&
        as_trace_add_note(t, "plan.lower_bound_bytes", "%llu", (unsigned long long)plan->lower_bound_bytes) &&
        as_trace_add_note(t, "plan.packed_bytes", "%llu", (unsigned long long)plan->packed_bytes) &&
        as_trace_add_note(t, "run.seed", "%llu", (unsigned long long)seed) && as_trace_add_note(t, "run.started", "%s", date) &&
        as_trace_add_note(t, "run.time_ns", "%llu", (unsigned long long)settings->time_ns);
    if (ok && settings->n_runs)
        ok = as_trace_add_note(t, "run.runs", "%llu", (unsigned long long)settings->n_runs);
    for (int i = 0; ok && i < plan->n_dims; i++) { /* "plan.batch", "plan.dim.time" */
        char key[640];
        snprintf(key, sizeof key, "plan.%s%s", strcmp(plan->dims[i].symbol, "batch") ? "dim." : "", plan->dims[i].symbol);
        ok = as_trace_add_note(t, key, "%lld", (long long)plan->dims[i].size);
    }
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "run: not enough memory for the notes of the trace");
}

static void limits_told(void *arg, double done)
{
    assay_env *env = arg;
    as_stage_begin(env, AS_PHASE_LIMITS, "", AS_LIMITS_S, 0); /* shown only where limits are really measured */
    as_stage_done(env, done);
}

static void bytes_note(assay_trace *t, const char *name, double bytes)
{
    if (bytes >= 0)
        as_trace_add_metric(t, &(as_trace_metric){.name = name, .unit = "byte", .value = bytes});
}

/* Before the run, while its threads are parked, so that neither disturbs the other.  The buffers are many times larger than the
 * network's: they are freed, and the peak of the process is reset where that is possible. */
static assay_status roofs_add(assay_env *env, const assay_plan *plan, const as_run_settings *settings, assay_trace *t)
{
    uint64_t         walked = 0;
    as_roof_settings how = {.n_threads = 1, .progress = limits_told, .progress_arg = env, .walked_bytes = &walked};
    as_stage_after(env, settings->n_runs ? 0 : (double)settings->time_ns * 1.1e-9);
    if (settings->roofs == AS_RUN_ROOFS_OFF)
        return ASSAY_OK;
    AS_TRY(as_roofs_add(env, as_run_roofs_how(settings->roofs), &how, plan->devices, plan->n_devices, t));
    if (walked)
        bytes_note(t, as_resident_peak_reset() ? AS_METRIC_LIMITS_APART : AS_METRIC_LIMITS, (double)walked);
    return ASSAY_OK;
}

/* The name of the case, with everything that distinguishes it: "cnn-small/batch=8/threads=2". */
static bool name_make(const assay_plan *plan, assay_trace *t)
{
    as_text name = {0};
    as_text_add(&name, t->model);
    for (int i = 0; i < plan->n_dims; i++)
        as_text_printf(&name, "/%s=%lld", plan->dims[i].symbol, (long long)plan->dims[i].size);
    if (t->threads > 1)
        as_text_printf(&name, "/threads=%d", t->threads);
    if (strcmp(t->device, "cpu"))
        as_text_printf(&name, "/device=%s", t->device);
    if (!plan->compiled)
        as_text_add(&name, "/compile=off");
    t->name = name.failed ? NULL : as_trace_keep(t, name.data);
    as_text_drop(&name);
    return t->name != NULL;
}

static assay_status profile(assay_env *env, const assay_plan *plan, const as_run_settings *settings, uint64_t seed,
                            assay_instance *instance, assay_trace *t)
{
    assay_instance_fill(instance, seed);
    AS_TRY(notes_add(env, plan, settings, seed, t));
    if (!name_make(plan, t))
        return as_fail(env, ASSAY_NO_MEMORY, "run: not enough memory for the name of the run");
    as_machine_describe(env, t);
    AS_TRY(as_plan_describe(env, plan, t));
    for (int i = 0; i < settings->n_planned; i++) {
        const as_run_planned *p = &settings->planned[i];
        char                  name[96];
        snprintf(name, sizeof name, AS_METRIC_PLANNED "%s", p->option);
        as_trace_add_metric(t, &(as_trace_metric){.name = name, .unit = "byte", .step = p->step, .value = (double)p->peak_bytes});
    }
    AS_TRY(roofs_add(env, plan, settings, t));
    as_stage_after(env, 0);
    if (settings->asks_ne)
        as_trace_add_metric(t, &(as_trace_metric){.name = AS_METRIC_ASKED_NE, .unit = "1", .value = 1});
    if (settings->tracks_unified && !as_resident_peak_reset())
        as_trace_add_note(t, "run.track_unified", "the system cannot count the peak anew: it is that of the whole process");
    return as_run_measure(env, instance, settings, t);
}

/* Takes the trace: it is the caller's when something was measured, and freed otherwise. */
static assay_status profile_into(assay_env *env, assay_instance *instance, double program, const as_run_settings *settings,
                                 uint64_t seed, assay_trace *t, assay_trace **out)
{
    bytes_note(t, AS_METRIC_PROGRAM, program);
    assay_status status = profile(env, instance->plan, settings, seed, instance, t);
    if (status == ASSAY_OK || status == ASSAY_CANCELLED)
        *out = t;
    else
        assay_trace_free(t);
    return status;
}

assay_status as_run_profile(assay_env *env, const assay_plan *plan, const as_run_settings *settings, uint64_t seed,
                            assay_trace **out)
{
    assay_instance *instance = NULL;
    assay_trace    *t;
    double          program = as_resident_bytes();
    as_plan_clock(env, plan);
    AS_TRY(as_trace_new_arms(env, plan->model->name, 1, &t)); /* before anything is allocated: the record begins with that */
    assay_status status = assay_instance_new(env, plan, &instance);
    if (status == ASSAY_OK && !as_instance_watch(instance))
        status = as_fail(env, ASSAY_NO_MEMORY, "run: not enough memory to stamp the transfers of the set-up");
    if (status == ASSAY_OK)
        status = profile_into(env, instance, program, settings, seed, t, out);
    else
        assay_trace_free(t);
    assay_instance_free(instance);
    return status;
}

assay_status as_run_profile_on(assay_env *env, assay_instance *instance, const as_run_settings *settings, uint64_t seed,
                               assay_trace **out)
{
    assay_trace    *t;
    as_run_settings kept = *settings;
    kept.keeps = true;
    AS_TRY(as_trace_new_arms(env, instance->plan->model->name, 1, &t));
    return profile_into(env, instance, as_resident_bytes(), &kept, seed, t, out);
}

/* One bag of options goes through load, build and profile: what none of the three takes is refused by the last. */
static assay_status options_check(assay_env *env, const assay_options *options)
{
    const as_option_member *const tables[] = {as_run_members, as_plan_members, as_model_members};
    const char                   *keys[64];
    size_t                        n = 0;
    for (size_t i = 0; i < AS_COUNT(tables); i++)
        for (const as_option_member *m = tables[i]; m->key && n + 1 < AS_COUNT(keys); m++) {
            keys[n] = NULL;
            if (!as_keys_have(keys, m->key))
                keys[n++] = m->key;
        }
    keys[n] = NULL;
    return as_options_only(env, options, "assay_profile", keys);
}

assay_status assay_profile(assay_env *env, const assay_plan *plan, const assay_options *options, assay_trace **out)
{
    as_run_settings settings;
    AS_TRY(options_check(env, options));
    AS_TRY(as_run_settings_read(env, options, &settings));
    return as_run_profile(env, plan, &settings, (uint64_t)as_options_int(options, "seed"), out);
}

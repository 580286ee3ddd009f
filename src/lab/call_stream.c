/* call_stream.c - a network in a control loop, as a call: answers one by one, and facts about their latency. */
#include <string.h>

#include "analysis/analysis.h"
#include "lab/calls.h"

/* --- What a stream can be made of ---------------------------------------------------------------------------- */

static const char *input_name(const assay_model *m, int i) { return m->values[m->inputs[i]].name; }

/* The symbol is 1 in a stream; an option may set it to 1, but to nothing else. */
static assay_status size_is_one(assay_env *env, const assay_model *m, const char *key, int64_t *size, bool *is_set)
{
    if (*is_set && *size != 1)
        return as_fail(env, ASSAY_BAD_INPUT, "--stream answers sample by sample: --%s must be 1, not %lld", key, (long long)*size);
    for (int i = 0; i < m->n_inputs; i++)
        for (int k = 0; k < m->values[m->inputs[i]].dims.rank; k++) {
            const char *symbol = m->values[m->inputs[i]].dims.dim[k].symbol;
            if (symbol && !strcmp(symbol, key)) {
                *size = 1;
                *is_set = true;
            }
        }
    return ASSAY_OK;
}

/* The sample comes from the stream, not from a file. */
static assay_status files_check(assay_env *env, const assay_model *m, const as_plan_options *how)
{
    const char *names[AS_MAX_ANSWERS];
    bool        taken[AS_MAX_ANSWERS] = {false};
    int         n = m->n_inputs < AS_MAX_ANSWERS ? m->n_inputs : AS_MAX_ANSWERS;
    for (int i = 0; i < n; i++)
        names[i] = input_name(m, i);
    for (size_t k = 0; k < how->inputs.n; k++) {
        int         i;
        const char *path;
        AS_TRY(as_option_named(env, "input", how->inputs.items[k], names, n, taken, &i, &path));
        if (!i)
            return as_fail(env, ASSAY_BAD_INPUT, "--stream reads the input '%s' from standard input, but --input gives it %s",
                           names[0], path);
        taken[i] = true;
    }
    return ASSAY_OK;
}

static assay_status timespans_check(assay_env *env, const assay_model *m, const as_plan_options *how, bool in_samples)
{
    if (how->timespans && !in_samples)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "--stream takes time spans from the last column of the samples (--timespans stdin), not from %s",
                       how->timespans);
    if (in_samples && as_timespans_find(m) < 0)
        return as_fail(env, ASSAY_BAD_INPUT, "--timespans stdin: the model '%s' has no input `timespans`", m->name);
    return ASSAY_OK;
}

/* An input that is neither in the stream nor in a file would be random, which is never wanted in a control loop. */
static assay_status others_check(assay_env *env, const assay_plan *plan)
{
    const assay_model *m = plan->model;
    as_state_pair      states[AS_MAX_STATES];
    int                timespans = as_timespans_find(m), n_states = as_state_find(m, states, AS_MAX_STATES);
    for (int i = 1; i < m->n_inputs; i++) {
        bool known = plan->given[i].path || i == timespans;
        for (int k = 0; k < n_states; k++)
            known |= states[k].input == i;
        if (!known)
            return as_fail(env, ASSAY_BAD_INPUT, "--stream reads only the input '%s': give --input %s=FILE for the other one",
                           input_name(m, 0), input_name(m, i));
    }
    return ASSAY_OK;
}

/* A network whose state is an output but not an input would silently forget it after every sample. */
static assay_status memory_check(assay_env *env, const assay_model *m)
{
    as_state_pair pairs[AS_MAX_STATES];
    int           outputs[AS_MAX_STATES];
    int           n = as_state_outputs(m, outputs), n_pairs = as_state_find(m, pairs, AS_MAX_STATES);
    for (int i = 0; i < n; i++) {
        bool paired = false;
        for (int k = 0; k < n_pairs; k++)
            paired |= pairs[k].output == outputs[i];
        if (!paired)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "--stream carries the state from sample to sample, but the model '%s' gives '%s' and has no "
                           "input for it; a built-in network has one when it is loaded with option stream",
                           m->name, m->values[m->outputs[outputs[i]]].name);
    }
    return ASSAY_OK;
}

static assay_status how_read(assay_env *env, const assay_model *m, const assay_options *options, as_plan_options *how,
                             as_stream_settings *settings)
{
    static const char *const keys[] = {AS_STREAM_KEYS, NULL};
    AS_TRY(as_options_only(env, options, "stream", keys));
    AS_TRY(as_plan_options_read(env, options, how));
    AS_TRY(as_stream_settings_read(env, options, settings));
    how->stream = true;
    AS_TRY(memory_check(env, m));
    AS_TRY(files_check(env, m, how)); /* before planning, which would report that the files have the wrong size */
    AS_TRY(timespans_check(env, m, how, settings->has_timespans));
    AS_TRY(size_is_one(env, m, "batch", &how->batch, &how->batch_is_set));
    return size_is_one(env, m, "seq", &how->seq, &how->seq_is_set);
}

/* --- Streaming ------------------------------------------------------------------------------------------------ */

/* The answers so far are kept, whatever ended the stream; the first error message is kept. */
static assay_status answers_give(assay_env *env, assay_instance *instance, const as_stream_settings *settings,
                                 const as_answer_files *files, as_stream_report *report)
{
    char         first[sizeof env->message];
    assay_status status = as_stream_run(env, instance, settings, report);
    memcpy(first, env->message, sizeof first);
    assay_status kept = report->n ? as_answer_files_save(env, instance, files) : ASSAY_OK;
    if (status == ASSAY_OK)
        return kept;
    memcpy(env->message, first, sizeof first);
    return status;
}

assay_status as_stream_answer(assay_env *env, const assay_model *model, const assay_options *options, int in_fd, int out_fd,
                              as_stream_report *report)
{
    as_plan_options    how;
    as_stream_settings settings;
    as_answer_files    files;
    as_variable_def    states[AS_MAX_STATES];
    as_plan_with       with = {.variables = states, .n_variables = as_state_variables(model, states)};
    assay_plan        *plan;
    assay_instance    *instance = NULL;
    *report = (as_stream_report){.n = 0};
    AS_TRY(how_read(env, model, options, &how, &settings));
    AS_TRY(as_answer_files_read(env, model, options, &files));
    settings.in_fd = in_fd;
    settings.out_fd = out_fd;
    AS_TRY(as_plan_build_with(env, model, &how, &with, &plan));
    assay_status status = others_check(env, plan);
    if (status == ASSAY_OK)
        status = assay_instance_new(env, plan, &instance);
    if (status == ASSAY_OK) {
        assay_instance_fill(instance, how.seed);
        status = answers_give(env, instance, &settings, &files, report);
    }
    assay_instance_free(instance);
    assay_plan_free(plan);
    return status;
}

/* --- As facts ----------------------------------------------------------------------------------------------------- */

static void report_add(assay_facts *f, const as_stream_report *r)
{
    as_fact_group *g = as_facts_group(f, "stream", "Stream");
    as_facts_add(f, g, "stream.answers", "answers", as_metric_counted(r->n, "1", "the stream"));
    as_facts_add(f, g, "stream.missed", "answers after their deadline",
                 r->deadline_ns ? as_metric_counted(r->n_missed, "1", r->clock)
                                : as_metric_unavailable("1", "neither option rate nor deadline was given"));
    as_facts_add(f, g, "stream.waiting", "samples that had to wait", as_metric_counted(r->n_waiting, "1", "the stream"));
    as_facts_add(f, g, "stream.rate", "answers per second", r->rate);
    as_facts_add(f, g, "stream.compute_p50", "sample to answer computed, median", r->compute_p50);
    as_facts_add(f, g, "stream.p50", "sample to answer written, median", r->p50);
    as_facts_add(f, g, "stream.p99", "sample to answer written, 99 %", r->p99);
    as_facts_add(f, g, "stream.p999", "sample to answer written, 99.9 %", r->p999);
    as_facts_add(f, g, "stream.max", "sample to answer written, longest", r->max);
    as_facts_add(f, g, "stream.jitter", "difference between one latency and the next, median", r->jitter);
    as_facts_add(f, g, "stream.interval_jitter", "deviation of the time between answers from the period, median",
                 r->interval_jitter);
}

static assay_status facts_make(assay_env *env, const assay_model *model, const as_stream_report *report, assay_facts **out)
{
    char         title[320];
    assay_facts *f = as_facts_new(env);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "stream: not enough memory for the result");
    snprintf(title, sizeof title, "stream of %.256s", model->name);
    f->title = as_facts_keep(f, title);
    report_add(f, report);
    return as_facts_done(f, out);
}

assay_status assay_stream(assay_env *env, const assay_model *model, const assay_options *options, int in_fd, int out_fd,
                          assay_facts **out)
{
    as_stream_report report;
    assay_status     status = as_stream_answer(env, model, options, in_fd, out_fd, &report);
    if (status != ASSAY_OK && !report.n)
        return status;
    char first[sizeof env->message];
    memcpy(first, env->message, sizeof first);
    assay_status told = facts_make(env, model, &report, out);
    if (status == ASSAY_OK)
        return told;
    memcpy(env->message, first, sizeof first);
    return status;
}

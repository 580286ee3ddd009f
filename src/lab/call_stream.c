/* call_stream.c - a network in a control loop, as a call: answers one by one, and facts about how late they were. */
#include "analysis/analysis.h"
#include "plan/plan.h"
#include "run/stream.h"

static void report_add(assay_facts *f, const as_stream_report *r)
{
    as_fact_group *g = as_facts_group(f, "stream", "Stream");
    as_facts_add(f, g, "stream.answers", "answers", as_metric_counted(r->n, "1", "the stream"));
    as_facts_add(f, g, "stream.missed", "answers after their deadline", as_metric_counted(r->n_missed, "1", "the stream"));
    as_facts_add(f, g, "stream.waiting", "samples that had to wait", as_metric_counted(r->n_waiting, "1", "the stream"));
    as_facts_add(f, g, "stream.rate", "answers per second", r->rate);
    as_facts_add(f, g, "stream.compute_p50", "sample to answer computed, median", r->compute_p50);
    as_facts_add(f, g, "stream.p50", "sample to answer written, median", r->p50);
    as_facts_add(f, g, "stream.p99", "sample to answer written, 99 %", r->p99);
    as_facts_add(f, g, "stream.p999", "sample to answer written, 99.9 %", r->p999);
    as_facts_add(f, g, "stream.max", "sample to answer written, longest", r->max);
    as_facts_add(f, g, "stream.jitter", "difference between successive latencies, median", r->jitter);
}

static assay_status stream_run(assay_env *env, const assay_model *model, const as_plan_options *how,
                               const as_stream_settings *settings, as_stream_report *report)
{
    as_variable_def states[AS_MAX_STATES];
    as_plan_with    with = {.variables = states, .n_variables = as_state_variables(model, states)};
    assay_plan     *plan;
    assay_instance *instance = NULL;
    AS_TRY(as_plan_build_with(env, model, how, &with, &plan));
    assay_status status = assay_instance_new(env, plan, &instance);
    if (status == ASSAY_OK) {
        assay_instance_fill(instance, how->seed);
        status = as_stream_run(env, instance, settings, report);
    }
    assay_instance_free(instance);
    assay_plan_free(plan);
    return status;
}

assay_status assay_stream(assay_env *env, const assay_model *model, const assay_options *options, int in_fd, int out_fd,
                          assay_facts **out)
{
    as_plan_options    how;
    as_stream_settings settings;
    as_stream_report   report = {0};
    AS_TRY(as_plan_options_read(env, options, &how));
    AS_TRY(as_stream_settings_read(env, options, &settings));
    if (!how.seq_is_set)
        how.seq = 1;
    settings.in_fd = in_fd;
    settings.out_fd = out_fd;
    AS_TRY(stream_run(env, model, &how, &settings, &report));
    assay_facts *f = as_facts_new(env);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "stream: no room for the result");
    f->title = as_facts_keep(f, model->name);
    report_add(f, &report);
    if (f->status != ASSAY_OK) {
        assay_status status = f->status;
        assay_facts_free(f);
        return status;
    }
    *out = f;
    return ASSAY_OK;
}

/* call_profile.c - a profile, from a model to facts, as in the verb: with the accuracy that Winograd costs and the time that
 * compiling saves. */
#include <math.h>

#include "base/stage.h"
#include "lab/calls.h"
#include "lab/compile.h"
#include "run/run.h"

typedef struct how {
    as_plan_options  plan;
    as_run_settings  run;
    as_lab_settings  lab;
    as_store_options store;
    bool             both; /* --compile both: plan is the compiled one */
} how;

/* With --compile both, the compiled plan is profiled; then the two plans take turns for as long again. */
static assay_status options_read(assay_env *env, const assay_options *options, how *h)
{
    AS_TRY(as_plan_options_read(env, options, &h->plan));
    AS_TRY(as_run_settings_read(env, options, &h->run));
    AS_TRY(as_lab_settings_read(env, options, NULL, &h->lab));
    AS_TRY(as_keep_options_read(env, options, &h->store));
    h->both = h->plan.compile == AS_PLAN_BOTH;
    if (h->both)
        h->plan.compile = AS_PLAN_COMPILED;
    h->lab.early = false; /* a narrow interval is wanted, not only a verdict */
    h->lab.sampler.budget_ns = h->run.time_ns;
    h->lab.sampler.n_rounds = 0; /* --runs applies to the profile */
    h->lab.timeout_ns = 0;
    return ASSAY_OK;
}

static assay_status both_run(assay_env *env, const assay_plan *plan, const how *h, assay_trace **out)
{
    assay_plan     *off = NULL;
    as_plan_options other = h->plan;
    other.compile = AS_PLAN_OP_BY_OP;
    AS_TRY(as_plan_build(env, plan->model, &other, &off));
    assay_status status = as_lab_compile(env, plan, off, h->run.pin, &h->lab, out);
    assay_plan_free(off);
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

/* The profile, then the comparison of --compile both. */
static assay_status facts_keep(assay_env *env, const how *h, const assay_trace *trace, assay_facts *f)
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

assay_status assay_profile_model(assay_env *env, const assay_model *model, const assay_options *options, assay_facts **out)
{
    assay_plan  *plan = NULL;
    assay_trace *trace = NULL, *trial = NULL;
    how          h;
    AS_TRY(options_read(env, options, &h));
    as_stage_begin(env, AS_PHASE_PLAN, "", (double)NAN, 0);
    AS_TRY(as_plan_build(env, model, &h.plan, &plan));
    assay_status measured = as_run_profile(env, plan, &h.run, h.plan.seed, &trace), status = measured;
    if (status == ASSAY_OK && plan->winograd)
        status = as_run_winograd_note(env, plan, &h.plan, h.plan.seed, trace);
    if (status == ASSAY_OK && h.both)
        measured = status = both_run(env, plan, &h, &trial);
    if (status == ASSAY_CANCELLED && trace && trace->n_runs)
        status = ASSAY_OK; /* what was measured is stored; the status still says incomplete */
    as_trace_state state = trial ? trial->state : AS_TRACE_COMPLETE;
    const char    *reason = trial ? trial->reason : "";
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    if (status == ASSAY_OK)
        status = facts_make(env, trace, &trial, &h.lab, out);
    bool made = status == ASSAY_OK;
    if (status == ASSAY_OK)
        status = facts_keep(env, &h, trace, *out);
    if (status == ASSAY_OK)
        status = whole(env, measured, trace, h.run.n_runs, state, reason);
    if (made) { /* whoever asked may want to export it */
        (*out)->record = trace;
        trace = NULL;
    }
    assay_trace_free(trial);
    assay_trace_free(trace);
    assay_plan_free(plan);
    return status;
}

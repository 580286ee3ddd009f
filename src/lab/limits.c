/* limits.c - the limit of a plan, measured again where the result contradicts it. */
#include "lab/limits.h"

#include <math.h>
#include <string.h>

#include "analysis/trace/plausible.h"

assay_status as_lab_limits(assay_env *env, const as_bench_case *const *cases, int n, as_roofs_how how, as_roofs *roofs)
{
    as_roof_settings settings = {.n_threads = 1};
    bool             cpu = false;
    char             source[1024];
    for (int i = 0; i < n; i++)
        if (!strncmp(cases[i]->plan.device, "cpu", 3)) {
            cpu = true;
            settings.n_threads = cases[i]->plan.threads > settings.n_threads ? cases[i]->plan.threads : settings.n_threads;
        }
    return cpu ? as_roofs_get(env, how, &settings, roofs, source, sizeof source) : ASSAY_OK;
}

/* Divides the call's time among the steps in proportion to their limits: if the whole is above its limit, so is every part. */
static bool time_spread(assay_trace *t, int n_threads, double call_ns, double limit_ns)
{
    as_limits limits;
    t->totals = AS_TAKE(&t->arena, as_step_total, t->n_steps);
    if (!t->totals)
        return false;
    t->n_totals = t->n_steps;
    for (size_t i = 0; i < t->n_steps; i++) {
        if (strcmp(t->steps[i].stage, "body") || !as_limits_read(t, t->steps[i].device, n_threads, &limits))
            continue;
        as_limit l = as_limit_of_step(&limits, &t->steps[i]);
        double   ticks = l.ns > 0 ? l.ns * call_ns / limit_ns / t->ns_per_tick : 0;
        t->totals[i] = (as_step_total){1, (uint64_t)ticks, (uint64_t)ticks, (uint64_t)ticks};
    }
    return true;
}

/* The CPU's limits are known already.  Those of another device are measured here, in the process that has it open: a driver's
 * threads do not survive a fork. */
static assay_status limits_add(assay_env *env, const as_lab_settings *s, const assay_plan *plan, assay_trace *t)
{
    as_roof_settings settings = {.n_threads = 1};
    AS_TRY(as_roofs_describe(env, s->roofs, "", t));
    for (int i = 0; i < plan->n_devices; i++)
        if (!as_roofs_of_cpu(plan->devices[i]))
            AS_TRY(as_roofs_add(env, s->roofs_how, &settings, &plan->devices[i], 1, t));
    return ASSAY_OK;
}

static assay_status find(assay_env *env, const as_lab_settings *s, const assay_plan *plan, const as_alone *alone, assay_trace *t,
                         as_limit *out)
{
    as_roof_settings settings = {.n_threads = 1};
    int              n_threads = plan->devices[0]->n_threads;
    double           share;
    AS_TRY(as_plan_describe(env, plan, t));
    AS_TRY(limits_add(env, s, plan, t));
    *out = as_limit_of_plan(t, n_threads);
    if (as_limit_judge(out, alone->median, alone->hi, &share) != AS_STANDING_DOUBT)
        return ASSAY_OK;
    if (!time_spread(t, n_threads, alone->median, out->ns))
        return as_fail(env, ASSAY_NO_MEMORY, "measure: not enough memory for the times of %zu steps", t->n_steps);
    AS_TRY(as_roofs_recheck(env, &settings, plan->devices, plan->n_devices, t, NULL));
    *out = as_limit_of_plan(t, n_threads);
    return ASSAY_OK;
}

assay_status as_lab_limit_find(assay_env *env, const as_lab_settings *s, const assay_plan *plan, assay_trace *trial, int arm)
{
    assay_trace *t = NULL;
    as_alone     alone;
    as_limit     limit = AS_LIMIT_NONE;
    if (!s->roofs)
        return ASSAY_OK;
    as_alone_judge(trial, arm, &alone);
    AS_TRY(as_trace_new(env, &t));
    assay_status status = find(env, s, plan, &alone, t, &limit);
    if (status == ASSAY_OK && limit.ns > 0) {
        limit.name = as_trace_keep(trial, limit.name);
        if (limit.name)
            trial->arms[arm].limit = limit;
        else
            status = as_fail(env, ASSAY_NO_MEMORY, "measure: not enough memory for the limit of %s", trial->name);
    }
    assay_trace_free(t);
    return status;
}

assay_status as_lab_limit_judge(assay_env *env, assay_trace *t)
{
    for (int i = 0; i < t->n_arms && t->n_turns; i++) {
        as_alone alone;
        char     sentence[AS_SENTENCE_BYTES], named[AS_SENTENCE_BYTES + 80];
        as_alone_judge(t, i, &alone);
        if (as_limit_is_plausible(&t->arms[i].limit, alone.median, alone.hi, sentence, sizeof sentence))
            continue;
        snprintf(named, sizeof named, "%.64s: %s", t->arms[i].name, sentence);
        t->reason = as_trace_keep(t, named);
        t->state = AS_TRACE_REFUSED;
        if (!t->reason) {
            t->reason = "";
            return as_fail(env, ASSAY_NO_MEMORY, "measure: not enough memory for the reason why %s is refused", t->name);
        }
        return ASSAY_OK;
    }
    return ASSAY_OK;
}

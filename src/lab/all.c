/* all.c - the budget of a whole suite: time left over by cases that were settled early goes to those that were not.
 *
 * Only the e-process, which is valid at every look, decides which cases continue.  The interval at the end is computed once,
 * after the last round: computing it earlier would make the verdict a second try at the same alpha.  For the same reason the
 * shares are equal, not larger for cases that are closest to a verdict: how long a case is measured may depend on the other cases
 * and on the clock, never on which of its own candidates won.  So a verdict is computed from the record of a trial as if its
 * budget had been larger from the beginning. */
#include "base/stage.h"
#include "lab/lab.h"

#define LEAST_SHARE 0.05 /* of a case's budget: a smaller share is not worth opening the case again */

/* A fixed place in memory cannot be taken again, and a trial with a fixed number of rounds ends by that number. */
static bool is_open(const assay_trace *t, const as_lab_settings *s)
{
    bool settled = true;
    if (!t || t->state != AS_TRACE_COMPLETE || !t->n_turns || t->memory == AS_MEMORY_FIXED)
        return false;
    for (int b = 1; b < t->n_arms && settled; b++)
        settled = as_duel_was_settled(t, 0, b, &s->rules);
    return !settled;
}

/* Only complete trials leave time over: one that failed or hung may have taken longer than it says. */
static double left_ns(assay_trace *const *trials, int n, const as_lab_settings *s)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        if (trials[i] && trials[i]->state == AS_TRACE_COMPLETE)
            sum += (double)s->sampler.budget_ns - trials[i]->spent_ns;
    return sum;
}

static int count_open(assay_trace *const *trials, int n, const as_lab_settings *s)
{
    int n_open = 0;
    for (int i = 0; i < n; i++)
        n_open += is_open(trials[i], s);
    return n_open;
}

static bool is_worth_it(assay_trace *const *trials, int n, int n_open, const as_lab_settings *s)
{
    return n_open && left_ns(trials, n, s) / n_open >= LEAST_SHARE * (double)s->sampler.budget_ns;
}

static assay_status share_out(as_lab_case run, void *arg, int n, int n_open, const as_lab_settings *s, assay_trace **trials)
{
    as_lab_settings own = *s;
    for (int i = 0; i < n && n_open; i++)
        if (is_open(trials[i], s)) {
            own.sampler.budget_ns = (uint64_t)(trials[i]->spent_ns + left_ns(trials, n, s) / n_open);
            n_open--;
            AS_TRY(run(arg, i, &own, &trials[i]));
        }
    return ASSAY_OK;
}

assay_status as_lab_all(assay_env *env, as_lab_case run, void *arg, int n, const as_lab_settings *s, assay_trace **trials)
{
    for (int i = 0; i < n; i++) {
        as_stage_after(env, (double)(n - 1 - i) * (double)s->sampler.budget_ns / 1e9);
        AS_TRY(run(arg, i, s, &trials[i]));
    }
    as_stage_after(env, 0);
    if (!s->early || s->sampler.n_rounds || n < 2)
        return ASSAY_OK;
    int before = n + 1, n_open = count_open(trials, n, s);
    for (; n_open < before && is_worth_it(trials, n, n_open, s);
         n_open = count_open(trials, n, s)) { /* until no case leaves time over */
        AS_TRY(share_out(run, arg, n, n_open, s, trials));
        before = n_open;
    }
    return ASSAY_OK;
}

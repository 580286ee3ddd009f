/* all.c - the budget of a whole suite: what cases that were settled early leave goes to those that were not.
 *
 * Who goes on is asked of the e-process alone, which holds at every look.  The interval at the end is looked at once, after the last round: were it
 * looked at before, the verdict after it would be a second try at the same alpha.  For the same reason shares are equal and not larger for those
 * that are nearest to a verdict: how long a case is measured may depend on the other cases and on the clock, never on which of its own arms won.
 * So a verdict is computed from the record of a trial as if its budget had been larger from the beginning. */
#include "base/stage.h"
#include "lab/lab.h"

#define LEAST_SHARE 0.05 /* of a case's budget: less is not worth opening it again */

/* A fixed place in memory cannot be had again, and rounds that are counted end by their count. */
static bool is_open(const assay_trace *t, const as_lab_settings *s)
{
    bool settled = true;
    if (!t || t->state != AS_TRACE_COMPLETE || !t->n_turns || t->memory == AS_MEMORY_FIXED)
        return false;
    for (int b = 1; b < t->n_arms && settled; b++)
        settled = as_duel_was_settled(t, 0, b, &s->rules);
    return !settled;
}

/* Only whole trials leave something: one that failed or hung may have taken longer than it says. */
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
         n_open = count_open(trials, n, s)) { /* until nobody leaves anything any more */
        AS_TRY(share_out(run, arg, n, n_open, s, trials));
        before = n_open;
    }
    return ASSAY_OK;
}

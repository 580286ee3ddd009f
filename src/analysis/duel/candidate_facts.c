/* candidate_facts.c - the candidates of comparisons, one per row, and the checks that support the verdicts: tables "candidates"
 * and "checks" of the group "compare". */
#include <math.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/trace/evidence.h"

#define MANY_BLOCKS 0.05 /* share of disturbed blocks from which on it is reported */

/* --- Candidates --------------------------------------------------------------------------------------------- */

static const char *const columns[] = {"case|case",
                                      "name|candidate",
                                      "what|what",
                                      "time|time",
                                      "item|time per item",
                                      "ratio|time over the first's",
                                      "memory|memory",
                                      "verdict|verdict",
                                      "visible|smallest detectable change",
                                      "needed|time to decide",
                                      NULL};

static assay_metric per_item(const assay_metric *time, double items)
{
    if (!as_metric_has(time))
        return *time;
    return as_number_derived(time->value / items, time->lo / items, time->hi / items, time->n, "ns",
                             "time of a call / items of a call", "the number of items per call is not known");
}

/* d: a comparison that the candidate is part of; first: the others are compared with this candidate. */
static void candidate_add(assay_facts *f, as_table *t, const as_duel_row *row, bool first)
{
    const as_duel      *d = &row->duel;
    const as_trace_arm *arm = &row->trial->arms[first ? row->a : row->b];
    const char         *source = as_trial_clock_text(row->trial), *is_first = "it is what the others are compared with";
    double              nan = (double)NAN;
    assay_metric time = first ? as_number_measured(d->a_ns, d->a_lo, d->a_hi, d->n_rounds, "ns", source, "nothing was measured")
                              : as_duel_b_metric(d, source);
    as_facts_row(f, t,
                 (as_cell[]){{.text = row->trial->name},
                             {.text = arm->name},
                             {.text = arm->what && *arm->what ? arm->what : "-"},
                             {.metric = time},
                             {.metric = per_item(&time, arm->items)},
                             {.metric = as_number_derived(first ? nan : d->ratio, d->lo, d->hi, d->n_units, "1",
                                                          d->per_item ? "paired, per item" : "paired",
                                                          first ? is_first : "there are too few rounds")},
                             {.metric = as_number_counted(arm->ledger.peak_bytes, "byte", "plan", "not known")},
                             {.text = first ? "first" : as_verdict_text(d->verdict)},
                             {.metric = as_number_derived(first ? nan : d->visible, NAN, NAN, d->n_units, "ratio",
                                                          "effect with 95 % power by the variances",
                                                          first ? is_first : "the variances are not known")},
                             {.metric = as_number_derived(first ? nan : d->needed_ns, NAN, NAN, d->n_units, "ns",
                                                          "time spent x (interval / distance from the margin)^2, with 95 % power",
                                                          first ? is_first : "there are too few rounds")}});
}

/* --- Checks ------------------------------------------------------------------------------------------------- */

/* Summary over all trials; each trial counts once. */
typedef struct census {
    size_t      n_trials, n_arms, n_compared, n_turns;
    double      error;            /* the largest difference from the reference code */
    bool        programs, hashes; /* programs: only hashes of their answers are known; hashes: all have one */
    bool        differ;           /* some hashes differ */
    bool        partial;
    const char *elsewhere, *slow; /* a candidate that its device ran only in part; one that runs reference code; NULL: none */
    double      disturbed;        /* share of the blocks: the worst trial */
    bool        probed;
    bool        drifts; /* the speed of a candidate changed while it was measured */
    double      luck;   /* by how much launches differ; 0: no more than their rounds */
    double      visible;
    size_t      n_open; /* comparisons that found no difference, or could not tell */
} census;

static void answers_count(census *c, const assay_trace *t)
{
    bool programs = t->memory == AS_MEMORY_RELAUNCHED;
    c->programs |= programs;
    for (int i = 0; i < t->n_arms; i++) {
        const as_trace_arm *arm = &t->arms[i];
        c->n_arms++;
        c->elsewhere = arm->elsewhere && *arm->elsewhere ? arm->name : c->elsewhere;
        c->slow = arm->slow && *arm->slow ? arm->name : c->slow;
        c->n_compared += isnan(t->arms[i].error) ? 0 : 1;
        c->error = isnan(t->arms[i].error) ? c->error : fmax(c->error, t->arms[i].error);
        c->hashes &= t->arms[i].hash != 0;
        c->differ |= programs && t->arms[i].hash && t->arms[0].hash && t->arms[i].hash != t->arms[0].hash;
    }
}

static void trial_count(census *c, const assay_trace *t)
{
    as_disturbance d;
    c->n_trials++;
    answers_count(c, t);
    c->partial |= t->state != AS_TRACE_COMPLETE;
    for (size_t i = 0; i < t->n_turns && !c->probed; i++)
        c->probed = !isnan(t->turns[i].fma_ns) || !isnan(t->turns[i].busy);
    as_disturbance_find(t, &d);
    c->disturbed = fmax(c->disturbed, fmax(fmax(d.frequency, d.dram), fmax(d.preempted, d.stolen)));
    for (int i = 0; i < t->n_arms; i++) {
        as_alone alone;
        as_alone_judge(t, i, &alone);
        c->drifts |= alone.steady == AS_STEADY_SLOWDOWN || alone.steady == AS_STEADY_NONE;
    }
}

static void check(assay_facts *f, as_table *t, const char *what, as_level level, const char *words)
{
    as_facts_row(f, t, (as_cell[]){{.text = what}, {.text = as_level_text(level)}, {.text = words}});
}

static void answers_check(assay_facts *f, as_table *t, const census *c)
{
    if (c->programs && c->differ)
        check(f, t, "answers", AS_LEVEL_WARN, "the programs give different answers");
    else if (c->programs)
        check(f, t, "answers", c->hashes ? AS_LEVEL_GOOD : AS_LEVEL_NOTE,
              c->hashes ? "same answers" : "the programs do not tell their answers");
    else if (c->n_compared == c->n_arms)
        check(f, t, "answers", AS_LEVEL_GOOD,
              c->error > 0 ? as_say(f, "answers agree (largest difference %.2g)", c->error) : "answers agree exactly");
    else
        check(f, t, "answers", AS_LEVEL_NOTE,
              c->n_compared ? as_say(f, "the answers of %zu of %zu candidates were checked", c->n_compared, c->n_arms)
                            : "answers were not checked");
}

static void checks_add(assay_facts *f, as_fact_group *g, const census *c)
{
    static const char *const names[] = {"check|check", "level|level", "words|in short", NULL};
    as_table                *t = as_facts_table(f, g, "checks", "What trust stands on", names);
    answers_check(f, t, c);
    if (c->luck > 0)
        check(f, t, "steady", AS_LEVEL_WARN, as_say(f, "each launch runs at another speed (%.2g %%)", 100 * c->luck));
    else if (c->drifts)
        check(f, t, "steady", AS_LEVEL_WARN, "the speed changed while it was measured");
    else
        check(f, t, "steady", AS_LEVEL_GOOD, "steady");
    if (c->disturbed >= MANY_BLOCKS)
        check(f, t, "machine", AS_LEVEL_WARN,
              as_say(f, "other programs used the machine (%.0f %% of the blocks)", 100 * c->disturbed));
    else if (c->probed)
        check(f, t, "machine", AS_LEVEL_GOOD, "machine idle");
    if (c->n_open && isfinite(c->visible) && c->visible > 0) /* a difference that was found does not depend on the smallest
                                                              * detectable change */
        check(f, t, "noise", AS_LEVEL_GOOD,
              as_say(f, "smallest detectable change %.*f %%", c->visible < .01 ? 1 : 0, 100 * c->visible));
    if (c->elsewhere)
        check(f, t, "device", AS_LEVEL_WARN, as_say(f, "%s ran only a part on its device", c->elsewhere));
    if (c->slow)
        check(f, t, "kernels", AS_LEVEL_WARN, as_say(f, "%s has steps in reference code, not in a fast kernel", c->slow));
    if (c->partial)
        check(f, t, "whole", AS_LEVEL_WARN, "it was stopped early");
}

void as_candidates_add(assay_facts *f, const as_duel_row *rows, size_t n)
{
    as_fact_group *g = as_facts_group(f, "compare", "Compare");
    as_table      *t = as_facts_table(f, g, "candidates", "Candidates", columns);
    census         c = {.hashes = true};
    for (size_t i = 0; i < n; i++) {
        bool new_trial = !i || rows[i].trial != rows[i - 1].trial;
        if (new_trial) {
            candidate_add(f, t, &rows[i], true);
            trial_count(&c, rows[i].trial);
        }
        candidate_add(f, t, &rows[i], false);
        c.luck = as_duel_luck(&rows[i].duel) ? fmax(c.luck, rows[i].duel.variance.sigma_launch) : c.luck;
        c.visible = isfinite(rows[i].duel.visible) ? fmax(c.visible, rows[i].duel.visible) : c.visible;
        c.n_open += rows[i].duel.verdict == AS_UNRESOLVED || rows[i].duel.verdict == AS_SAME;
    }
    if (n)
        checks_add(f, g, &c);
    as_rates_add(f, rows, n);
}

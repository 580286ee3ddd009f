/* suite.c - cases one after the other, the lie detector, the facts. */
#include "lab/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/plausible.h"
#include "base/stage.h"
#include "lab/limits.h"

/* Upper estimates of the fixed cost of a call: on the calling thread, with other threads, on a device. */
static const double FLOOR_NS = 2e3, FLOOR_THREADS_NS = 2e4, FLOOR_DEVICE_NS = 3e5;

assay_status as_suite_measure(assay_env *env, const as_bench_cases *cases, const as_lab_settings *s, as_suite **out)
{
    as_suite    *suite = calloc(1, sizeof *suite);
    assay_status status = ASSAY_OK;
    if (suite) {
        suite->cases = cases;
        suite->trials = AS_TAKE(&suite->arena, assay_trace *,
                                cases->n_items); /* not in a compound literal: that would clear the arena that it allocates from */
    }
    if (!suite || !suite->trials) {
        as_suite_free(suite);
        return as_fail(env, ASSAY_NO_MEMORY, "bench: not enough memory for %d cases", cases->n_items);
    }
    for (int i = 0; i < cases->n_items && status == ASSAY_OK; i++) {
        assay_trace *trial = NULL;
        as_stage_after(env, (double)(cases->n_items - 1 - i) * (double)s->sampler.budget_ns / 1e9);
        status = as_lab_measure(env, &cases->items[i], s, &trial);
        if (trial)
            suite->trials[suite->n_trials++] = trial;
    }
    if (status == ASSAY_OK || status == ASSAY_CANCELLED)
        *out = suite;
    else
        as_suite_free(suite);
    return status;
}

void as_suite_free(as_suite *suite)
{
    if (!suite)
        return;
    for (size_t i = 0; i < suite->n_trials; i++)
        assay_trace_free(suite->trials[i]);
    as_arena_drop(&suite->arena);
    free(suite);
}

/* --- The lie detector -------------------------------------------------------------------------------- */

static bool has_number(const assay_trace *t)
{
    return (t->state == AS_TRACE_COMPLETE || t->state == AS_TRACE_PARTIAL) && t->n_turns;
}

static as_alone alone_of(const assay_trace *t)
{
    as_alone alone = {.median = NAN, .lo = NAN, .hi = NAN};
    if (has_number(t))
        as_alone_judge(t, 0, &alone);
    return alone;
}

static double floor_of(const as_bench_case *c)
{
    return strncmp(c->plan.device, "cpu", 3) ? FLOOR_DEVICE_NS : c->plan.threads > 1 ? FLOOR_THREADS_NS : FLOOR_NS;
}

static as_claim claim_of(const as_bench_case *c, const assay_trace *t)
{
    as_alone alone = alone_of(t);
    return (as_claim){.name = c->name,
                      .family = c->family,
                      .median_ns = alone.median,
                      .lo_ns = alone.lo,
                      .hi_ns = alone.hi,
                      .flops = t->arms[0].ledger.flops,
                      .bytes = t->arms[0].ledger.bytes,
                      .limit = t->arms[0].limit,
                      .floor_ns = floor_of(c) + (t->calls ? 20 * t->clock_cost_ns / t->calls : 0),
                      .told = as_bench_case_is_told(c),
                      .once_ns = t->once_ns,
                      .twice_ns = t->twice_ns,
                      .hash = t->arms[0].hash,
                      .poisoned_hash = t->arms[0].poisoned_hash};
}

assay_status as_suite_judge(assay_env *env, as_suite *suite, size_t *n_refused)
{
    as_claim *claims = AS_TAKE(&suite->arena, as_claim, suite->n_trials);
    if (!claims)
        return as_fail(env, ASSAY_NO_MEMORY, "bench: not enough memory to look at %zu cases", suite->n_trials);
    for (size_t i = 0; i < suite->n_trials; i++)
        claims[i] = claim_of(&suite->cases->items[i], suite->trials[i]);
    *n_refused = as_claims_judge(claims, suite->n_trials);
    for (size_t i = 0; i < suite->n_trials; i++) {
        assay_trace *t = suite->trials[i];
        if (!claims[i].refused || !has_number(t))
            continue;
        t->state = AS_TRACE_REFUSED;
        t->reason = as_trace_keep(t, claims[i].sentence);
        if (!t->reason) {
            t->reason = "";
            return as_fail(env, ASSAY_NO_MEMORY, "bench: not enough memory for the reason why %s is refused", t->name);
        }
    }
    return ASSAY_OK;
}

size_t as_suite_missing(const as_suite *suite)
{
    size_t n = 0;
    for (size_t i = 0; i < suite->n_trials; i++)
        n += !has_number(suite->trials[i]);
    return n;
}

/* --- Facts --------------------------------------------------------------------------------------------- */

static as_bench_row row_of(const assay_trace *t)
{
    as_alone alone = alone_of(t);
    return (as_bench_row){.trial = t,
                          .alone = alone,
                          .flops = t->arms[0].ledger.flops,
                          .bytes = t->arms[0].ledger.bytes,
                          .error = t->arms[0].error,
                          .compared = t->arms[0].compared,
                          .refusal = t->state == AS_TRACE_REFUSED ? t->reason : NULL};
}

static void notes_add(assay_facts *f, const as_suite *suite)
{
    as_fact_group *g = as_facts_group(f, "bench", "Bench");
    for (int i = 0; i < suite->cases->n_notes; i++)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s.", suite->cases->notes[i]);
    for (size_t i = 0; i < suite->n_trials; i++) {
        const char *slow = suite->trials[i]->arms[0].slow;
        if (*slow)
            as_facts_find(f, g, AS_LEVEL_WARN, "%s: there is no kernel for step '%s': the reference code was timed.",
                          suite->trials[i]->name, slow);
    }
}

static double metric_of(const assay_trace *t, const char *prefix, const char *name)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strncmp(t->metrics[i].name, prefix, n) && !strcmp(t->metrics[i].name + n, name))
            return t->metrics[i].value;
    return (double)NAN;
}

/* What the memory of training steps is for: a row per case. */
static void training_add(assay_facts *f, const as_suite *suite)
{
    static const char *const columns[] = {"case|case",
                                          "total|total",
                                          "weights|weights",
                                          "states|optimiser state",
                                          "statistics|statistics",
                                          "data|data",
                                          "gradients|gradients",
                                          "activations|activations",
                                          "packed|packed",
                                          "scratch|scratch",
                                          "gaps|gaps",
                                          NULL};
    as_table                *table = NULL;
    for (size_t i = 0; i < suite->n_trials; i++) {
        const assay_trace *t = suite->trials[i];
        as_cell            cells[AS_N_KINDS + 2] = {{.text = t->name}};
        double             total = 0;
        if (!isfinite(metric_of(t, AS_METRIC_TRAIN_MEMORY, as_train_kind_text(AS_KIND_WEIGHTS))))
            continue;
        for (int k = 0; k < AS_N_KINDS; k++) {
            double bytes = metric_of(t, AS_METRIC_TRAIN_MEMORY, as_train_kind_text((as_train_kind)k));
            cells[k + 2].metric = as_metric_counted(bytes > 0 ? (uint64_t)bytes : 0, "byte", "plan");
            total += bytes > 0 ? bytes : 0;
        }
        cells[1].metric = as_metric_counted((uint64_t)total, "byte", "plan");
        if (!table)
            table = as_facts_table(f, as_facts_group(f, "bench", "Bench"), "training", "Memory of training steps by what it is for",
                                   columns);
        as_facts_row(f, table, cells);
    }
}

assay_status as_suite_facts(assay_env *env, as_suite *suite, assay_facts **out)
{
    as_bench_row *rows = AS_TAKE(&suite->arena, as_bench_row, suite->n_trials);
    for (size_t i = 0; rows && i < suite->n_trials; i++)
        rows[i] = row_of(suite->trials[i]);
    assay_facts *facts = rows ? as_facts_of_bench(env, rows, suite->n_trials) : NULL;
    if (!facts)
        return as_fail(env, ASSAY_NO_MEMORY, "bench: not enough memory for the result");
    notes_add(facts, suite);
    training_add(facts, suite);
    if (facts->status != ASSAY_OK) {
        assay_status status = facts->status;
        assay_facts_free(facts);
        return status;
    }
    *out = facts;
    return ASSAY_OK;
}

assay_status as_suite_roofs(assay_env *env, const as_bench_cases *cases, as_roofs *roofs)
{
    const as_bench_case **items = calloc((size_t)cases->n_items + 1, sizeof *items);
    if (!items)
        return as_fail(env, ASSAY_NO_MEMORY, "bench: not enough memory for %d cases", cases->n_items);
    for (int i = 0; i < cases->n_items; i++)
        items[i] = &cases->items[i];
    assay_status status = as_lab_limits(env, items, cases->n_items, AS_ROOFS_AUTO, roofs);
    free(items);
    return status;
}

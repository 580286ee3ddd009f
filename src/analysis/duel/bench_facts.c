/* bench_facts.c - one row per case: its time, its rate, its share of the limit, and whether to believe it. */

#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "analysis/duel/duel_facts.h"
#include "trace/limit.h"

/* Why a row has no numbers; NULL: it has numbers. */
static const char *why_none(assay_facts *f, const as_bench_row *row)
{
    const assay_trace *t = row->trial;
    if (row->refusal)
        return row->refusal;
    if (t->state == AS_TRACE_COMPLETE || (t->state == AS_TRACE_PARTIAL && isfinite(row->alone.median)))
        return isfinite(row->alone.median) ? NULL : "nothing was measured";
    return t->reason && *t->reason ? t->reason : as_say(f, "the case is %s", as_trace_state_text(t->state));
}

static const char *state_of(const as_bench_row *row)
{
    return row->refusal ? as_trace_state_text(AS_TRACE_REFUSED) : as_trace_state_text(row->trial->state);
}

/* Work per second from the time of a call: the upper bound of the time gives the lower bound of the rate. */
static assay_metric rate(const as_bench_row *row, double work, const char *unit, const char *formula, const char *none,
                         const char *reason)
{
    const as_alone *a = &row->alone;
    if (none || !(work > 0) || !(a->median > 0))
        return as_metric_unavailable(unit, none ? none : reason);
    return as_number_derived(work * 1e9 / a->median, work * 1e9 / a->hi, work * 1e9 / a->lo, a->n_samples, unit, formula, reason);
}

static assay_metric quantile(const as_bench_row *row, double value, const char *none, const char *source)
{
    return as_number_measured(none ? (double)NAN : value, NAN, NAN, row->alone.n_samples, "ns", source,
                              none ? none : "too few samples for this percentile");
}

static assay_metric median(const as_bench_row *row, const char *none)
{
    const as_alone *a = &row->alone;
    return as_number_measured(none ? (double)NAN : a->median, a->lo, a->hi, a->n_samples, "ns", as_trial_clock_text(row->trial),
                              none ? none : "nothing was measured");
}

/* A share above 1 is never shown as a number: either the case is at its limit, or the reason says what it is. */
static assay_metric limit_share(assay_facts *f, const as_bench_row *row, const char *none)
{
    const as_limit *l = &row->trial->arms[row->arm].limit;
    double          share;
    as_standing     standing = as_limit_judge(l, row->alone.median, row->alone.hi, &share);
    if (none)
        return as_metric_unavailable("ratio", none);
    if (standing == AS_STANDING_BELOW)
        return as_metric_derived(share, NAN, NAN, 1, "ratio", as_say(f, "time at the limit %s / median", l->name));
    if (standing == AS_STANDING_AT)
        return as_metric_derived(share, NAN, NAN, 1, "ratio",
                                 as_say(f, "at its limit %s: %.1f %% above it, within the margin of 5 %%", l->name,
                                        100 * (l->ns / row->alone.median - 1)));
    return as_metric_unavailable("ratio", standing == AS_STANDING_DOUBT
                                              ? as_say(f, "above its limit %s, which may be too low", l->name)
                                          : standing == AS_STANDING_ABOVE ? "refused: above its limit"
                                                                          : "no limit of this device was measured");
}

static void row_add(assay_facts *f, as_table *t, const as_bench_row *row)
{
    const as_alone *a = &row->alone;
    const char     *none = why_none(f, row), *source = as_trial_clock_text(row->trial);
    double          half = (a->hi - a->lo) / 2 / a->median;
    as_facts_row(
        f, t,
        (as_cell[]){
            {.text = row->trial->name},
            {.metric = median(row, none)},
            {.metric = as_number_derived(none ? (double)NAN : half, NAN, NAN, a->n_samples, "ratio", "half the interval / median",
                                         none ? none : "too few blocks for an interval")},
            {.metric = rate(row, row->flops, "flop/s", "flops per call / median", none, "the case has no flops")},
            {.metric = rate(row, row->bytes, "byte/s", "compulsory bytes per call / median", none, "the case has no bytes")},
            {.metric = limit_share(f, row, none)},
            {.text = none       ? "-"
                     : a->noise ? a->noise
                                : "-"},
            {.text = state_of(row)},
            {.metric = quantile(row, a->p5, none, source)},
            {.metric = quantile(row, a->p95, none, source)},
            {.metric = rate(row, 1, "1/s", "1 / median", none, "nothing was measured")},
            {.metric = none ? as_metric_unavailable("1", none) : as_metric_counted(a->n_samples, "1", "trial")},
            {.metric = as_number_measured(row->error, NAN, NAN, 1, "1",
                                          row->compared && *row->compared ? row->compared : "outputs against the reference code",
                                          row->compared && *row->compared ? row->compared : "outputs were not compared")},
        });
}

/* What the reader must know in addition to the row. */
static void findings_add(assay_facts *f, as_fact_group *g, const as_bench_row *row)
{
    const char *name = row->trial->name;
    if (row->trial->state == AS_TRACE_PARTIAL)
        as_facts_find(f, g, AS_LEVEL_WARN, "%s is partial: %s.", name,
                      row->trial->reason && *row->trial->reason ? row->trial->reason : "it stopped early");
    if (row->alone.steady == AS_STEADY_SLOWDOWN || row->alone.steady == AS_STEADY_NONE)
        as_facts_find(f, g, AS_LEVEL_WARN, "%s: %s; do not trust its absolute times.", name, as_steady_text(row->alone.steady));
    double share;
    if (as_limit_judge(&row->trial->arms[row->arm].limit, row->alone.median, row->alone.hi, &share) == AS_STANDING_DOUBT)
        as_facts_find(f, g, AS_LEVEL_WARN, "%s is above its limit (%s), which may be too low: no share of the limit is given.",
                      name, row->trial->arms[row->arm].limit.name);
    const char *reasons = "";
    for (int i = 0; i < row->alone.n_reasons; i++)
        reasons = as_say(f, "%s%s%s", reasons, i ? "; " : "", row->alone.reasons[i]);
    if (*reasons)
        as_facts_find(f, g, AS_LEVEL_WARN, "%s: %s.", name, reasons);
}

static void summary_add(assay_facts *f, as_fact_group *g, const as_bench_row *rows, size_t n)
{
    size_t n_good = 0, n_noisy = 0;
    double spent = 0;
    for (size_t i = 0; i < n; i++) {
        n_good += !why_none(f, &rows[i]);
        n_noisy += !why_none(f, &rows[i]) && rows[i].alone.noise && strcmp(rows[i].alone.noise, "quiet");
        spent += rows[i].trial->spent_ns > 0 ? rows[i].trial->spent_ns : 0;
    }
    if (n == 1) { /* one case: its numbers are the headline */
        const char *none = why_none(f, rows);
        as_facts_add(f, g, "bench.median", "median", median(rows, none));
        as_facts_add(f, g, "bench.flop_rate", "flop rate",
                     rate(rows, rows->flops, "flop/s", "flops per call / median", none, "the case has no flops"));
        as_facts_add(f, g, "bench.of_roof", "of its limit", limit_share(f, rows, none));
    }
    as_facts_add(f, g, "bench.cases", "cases", as_metric_counted(n, "1", "trials"));
    as_facts_add(f, g, "bench.measured", "measured", as_metric_counted(n_good, "1", "trials"));
    as_facts_add(f, g, "bench.not_measured", "timed out, failed or refused", as_metric_counted(n - n_good, "1", "trials"));
    as_facts_add(f, g, "bench.noisy", "noisy or suspect", as_metric_counted(n_noisy, "1", "trials"));
    as_facts_add(f, g, "bench.spent", "time spent",
                 as_metric_measured(spent, NAN, NAN, n, "ns", "clock, from the first launch to the last block"));
}

assay_facts *as_facts_of_bench(assay_env *env, const as_bench_row *rows, size_t n)
{
    static const char *const columns[] = {"case|case",
                                          "median|median",
                                          "half_width|+/-",
                                          "flop_rate|flop rate",
                                          "byte_rate|byte rate",
                                          "of_roof|of limit",
                                          "noise|noise",
                                          "state|state",
                                          "p5|p5",
                                          "p95|p95",
                                          "ops|calls/s",
                                          "samples|samples",
                                          "error|error",
                                          NULL};
    assay_facts             *f = as_facts_new(env);
    if (!f)
        return NULL;
    as_fact_group *g = as_facts_group(f, "bench", "Bench");
    as_table      *t = as_facts_table(f, g, "cases", "Cases", columns);
    f->title = as_facts_keep(f, n == 1 ? as_say(f, "bench: %s", rows[0].trial->name) : as_say(f, "bench: %zu cases", n));
    if (n)
        as_trial_notes(f, rows[0].trial);
    for (size_t i = 0; i < n; i++)
        row_add(f, t, &rows[i]);
    summary_add(f, g, rows, n);
    for (size_t i = 0; i < n; i++)
        if (why_none(f, &rows[i]))
            as_facts_find(f, g, AS_LEVEL_BAD, "%s: %s: %s.", rows[i].trial->name, state_of(&rows[i]), why_none(f, &rows[i]));
    for (size_t i = 0; i < n; i++) {
        if (why_none(f, &rows[i]))
            continue;
        findings_add(f, g, &rows[i]);
        as_trial_samples(f, g, rows[i].trial, rows[i].arm, (int)i);
        as_trial_series(f, g, rows[i].trial, (int)i);
    }
    as_facts_find(f, g, AS_LEVEL_NOTE, "The intervals were measured in one session; another session may differ by more.");
    return f;
}

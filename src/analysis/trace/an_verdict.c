/* an_verdict.c - the run in plain sentences, from what the other analyses found.  Runs last. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/stats.h"

#define MAX_DRIFT 0.02
#define MAX_COST  0.02 /* of measuring; above this, measuring changes the result */

enum { MAX_SLOPE_POINTS = 300 }; /* 44850 pairs: the slope of block medians is the slope of the run */

/* --- Is the run steady? ---------------------------------------------------------------------------- */

typedef struct drift {
    double change, slope_change;
    bool   known, certain;
    size_t n;
} drift;

/* Median slope over the whole run, as a share of the median. */
static double slope_change(assay_facts *f, const double *x, size_t n, double median)
{
    size_t  n_points = n < MAX_SLOPE_POINTS ? n : MAX_SLOPE_POINTS;
    double *points = AS_TAKE(&f->arena, double, n_points), *scratch = AS_TAKE(&f->arena, double, n_points *n_points / 2 + n);
    if (!points || !scratch)
        return NAN;
    for (size_t i = 0; i < n_points; i++) {
        size_t begin = n * i / n_points, end = n * (i + 1) / n_points;
        points[i] = as_median(x + begin, end - begin, scratch);
    }
    return as_theil_sen(points, n_points, scratch) * (double)(n_points - 1) / median;
}

/* The first third against the last.  A difference is certain when their order-statistic intervals do not overlap. */
static drift drift_of(assay_facts *f, const as_times *times)
{
    drift   d = {.n = times->n};
    size_t  third = times->n / 3, lo, hi;
    double *first = AS_TAKE(&f->arena, double, times->n), *last = AS_TAKE(&f->arena, double, times->n);
    if (third < 10 || !first || !last)
        return d;
    memcpy(first, times->ns, third * sizeof *first);
    memcpy(last, times->ns + times->n - third, third * sizeof *last);
    as_sort(first, third);
    as_sort(last, third);
    double a = as_quantile_sorted(first, third, .5), b = as_quantile_sorted(last, third, .5);
    if (!(a > 0) || !as_median_ranks(third, AS_CONFIDENCE, &lo, &hi, NULL))
        return d;
    d.known = true;
    d.change = b / a - 1;
    d.certain = first[hi] < last[lo] || last[hi] < first[lo];
    d.slope_change = slope_change(f, times->ns, times->n, a);
    return d;
}

static bool is_drifting(const drift *d) { return d->known && d->certain && fabs(d->change) > MAX_DRIFT; }

/* A large difference that may be noise proves neither drift nor a steady run. */
static bool is_open(const drift *d) { return d->known && !d->certain && fabs(d->change) > MAX_DRIFT; }

static const char *steadiness_words(const drift *d)
{
    if (!d->known)
        return "too short to tell whether it is steady";
    return is_drifting(d) ? "drifting" : is_open(d) ? "too noisy to tell whether it is steady" : "steady";
}

/* "" for a whole run. */
static const char *partial_words(const assay_trace *t)
{
    if (t->state == AS_TRACE_PARTIAL)
        return "; the run is partial";
    return t->complete ? "" : "; the trace is partial";
}

static void drift_add(assay_facts *f, as_fact_group *g, const drift *d)
{
    const char *reason = as_say(f, "needs 30 samples above zero, has %zu", d->n);
    bool        has_slope = d->known && isfinite(d->slope_change);
    as_facts_add(f, g, "verdict.drift", "last third against first",
                 d->known ? as_metric_derived(d->change, NAN, NAN, d->n, "ratio", "median of last third / of first third - 1")
                          : as_metric_unavailable("ratio", reason));
    as_facts_add(
        f, g, "verdict.slope", "trend over the run",
        has_slope ? as_metric_derived(d->slope_change, NAN, NAN, d->n, "ratio", "Theil-Sen slope x length / median of first third")
                  : as_metric_unavailable("ratio", reason));
    if (!d->known)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Cannot tell whether the run is steady: %s.", reason);
    else if (is_drifting(d))
        as_facts_find(f, g, AS_LEVEL_WARN,
                      "The run is not steady: its last third is %.1f %% %s than its first (trend %+.1f %% over the run), so the "
                      "median mixes two states.",
                      100 * fabs(d->change), d->change > 0 ? "slower" : "faster", 100 * d->slope_change);
    else if (is_open(d))
        as_facts_find(
            f, g, AS_LEVEL_NOTE,
            "Cannot tell whether the run is steady: its last third differs from its first by %+.1f %%, which may be noise.",
            100 * d->change);
    else
        as_facts_find(f, g, AS_LEVEL_GOOD,
                      "The run is steady: its last third differs from its first by %+.1f %% (trend %+.1f %% over the run).",
                      100 * d->change, 100 * d->slope_change);
}

/* --- What dominates? ------------------------------------------------------------------------------------ */

static void dominance_add(assay_facts *f, as_fact_group *g)
{
    const as_table *steps = as_facts_table_find(f, "layers", "steps");
    int             share = steps ? as_column_find(steps, "share") : -1, best = -1;
    if (share < 0)
        return;
    const as_cell *cells = steps->cells;
    for (int i = 0; i < steps->n_rows; i++) {
        const assay_metric *m = &cells[i * steps->n_columns + share].metric;
        if (as_metric_has(m) && (best < 0 || m->value > cells[best * steps->n_columns + share].metric.value))
            best = i;
    }
    const assay_metric *clean = as_facts_metric(f, "layers.undisturbed_runs");
    if (clean && clean->value < AS_CLEAN_ENOUGH) { /* the layers say why */
        as_facts_find(f, g, AS_LEVEL_NOTE, "Cannot tell which layer takes the most time: %.0f uninterrupted %s, and %d are needed.",
                      clean->value, clean->value == 1 ? "run was recorded" : "runs were recorded", AS_CLEAN_ENOUGH);
        return;
    }
    if (best < 0)
        return;
    const as_cell      *row = &cells[best * steps->n_columns];
    const assay_metric *time = &row[as_column_find(steps, "time")].metric;
    as_facts_find(f, g, AS_LEVEL_NOTE, "%s (%s, kernel %s) %s: %.1f %% of the run, %s, among %d %s.",
                  row[as_column_find(steps, "name")].text, row[as_column_find(steps, "op")].text,
                  row[as_column_find(steps, "kernel")].text, row[share].metric.value >= .5 ? "dominates" : "takes the most time",
                  100 * row[share].metric.value, as_say_number(f, time->value, "ns"), steps->n_rows,
                  steps->n_rows == 1 ? "step" : "steps");
}

/* --- The most important findings, repeated where a reader looks first ------------------------------------------------------ */

static as_level worst_level(const assay_facts *f)
{
    as_level worst = AS_LEVEL_GOOD;
    for (int i = 0; i < f->n_groups; i++)
        for (int j = 0; j < f->groups[i].n_findings; j++)
            if (f->groups[i].findings[j].level > worst)
                worst = f->groups[i].findings[j].level;
    return worst;
}

/* The first finding of a group that is a judgement. */
static const as_finding *judgement(const assay_facts *f, const char *group)
{
    const as_fact_group *g = as_facts_group_find(f, group);
    for (int i = 0; g && i < g->n_findings; i++)
        if (g->findings[i].level != AS_LEVEL_NOTE)
            return &g->findings[i];
    return g && g->n_findings ? &g->findings[0] : NULL;
}

static const char *accounted_words(assay_facts *f)
{
    const assay_metric *share = as_facts_metric(f, "books.explained_share");
    if (!share || !as_metric_has(share))
        return "time accounted for unknown";
    return as_say(f, "%.1f %% of the time accounted for", 100 * share->value);
}

static void overall_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const drift *d)
{
    const assay_metric *median = as_facts_metric(f, "latency.median");
    as_level            worst = worst_level(f);
    if (!median || !as_metric_has(median)) {
        as_facts_find(f, g, AS_LEVEL_BAD, "%s: no latency was measured%s.", f->title, partial_words(t));
        return;
    }
    static const char *const machine_words[] = {[AS_MACHINE_UNKNOWN] = "cannot tell whether the machine was idle",
                                                [AS_MACHINE_IDLE] = "machine idle",
                                                [AS_MACHINE_BUSY] = "machine busy",
                                                [AS_MACHINE_VERY_BUSY] = "machine very busy"};
    const char              *machine = machine_words[f->machine];
    if (*partial_words(t) || is_drifting(d))
        worst = worst > AS_LEVEL_WARN ? worst : AS_LEVEL_WARN;
    char interval[128];
    as_show_interval(interval, sizeof interval, median);
    as_facts_find(f, g, worst, "%s: %s per run (%s%s), %s, %s, %s%s.", f->title, as_say_number(f, median->value, "ns"),
                  isnan(median->lo) ? "no interval: too few samples"
                  : *interval       ? "95 % interval "
                                    : "all samples equal",
                  interval, steadiness_words(d), machine, accounted_words(f), partial_words(t));
}

/* --- Can the numbers be trusted: one row per check, in a few words -------------------------------------------- */

static void check_row(assay_facts *f, as_table *checks, const char *what, as_level level, const char *words)
{
    as_facts_row(f, checks, (as_cell[]){{.text = what}, {.text = as_level_text(level)}, {.text = words}});
}

static void steady_check(assay_facts *f, as_table *checks, const drift *d)
{
    if (!d->known)
        check_row(f, checks, "steady", AS_LEVEL_NOTE, "too few samples to tell whether it was steady");
    else if (is_drifting(d))
        check_row(f, checks, "steady", AS_LEVEL_WARN,
                  as_say(f, "the run became %.0f %% %s while it was measured", 100 * fabs(d->change),
                         d->change > 0 ? "slower" : "faster"));
    else if (is_open(d))
        check_row(f, checks, "steady", AS_LEVEL_NOTE, "too noisy to tell whether it was steady");
    else
        check_row(f, checks, "steady", AS_LEVEL_GOOD, "steady");
}

static void machine_check(assay_facts *f, as_table *checks)
{
    static const char *const words[] = {[AS_LEVEL_NOTE] = "cannot tell whether the machine was idle",
                                        [AS_LEVEL_GOOD] = "machine idle",
                                        [AS_LEVEL_WARN] = "other programs used the machine",
                                        [AS_LEVEL_BAD] = "other programs kept the machine busy"};
    const as_finding        *found = judgement(f, "contention");
    as_level                 level = found ? found->level : AS_LEVEL_NOTE;
    check_row(f, checks, "machine", level, words[level]);
}

static void time_check(assay_facts *f, as_table *checks)
{
    const assay_metric *share = as_facts_metric(f, "books.explained_share");
    const as_finding   *found = judgement(f, "books");
    if (!share || !as_metric_has(share))
        check_row(f, checks, "time", AS_LEVEL_NOTE, "the time per layer was not recorded");
    else
        check_row(f, checks, "time", found ? found->level : AS_LEVEL_NOTE,
                  as_say(f, "%s%.1f %% of the time accounted for", found && found->level > AS_LEVEL_GOOD ? "only " : "",
                         100 * share->value));
}

static void checks_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const drift *d)
{
    static const char *const columns[] = {"check|check", "level|level", "words|in short", NULL};
    as_table                *checks = as_facts_table(f, g, "checks", "What trust stands on", columns);
    const assay_metric      *above = as_facts_metric(f, "roofline.above");
    const assay_metric      *cost = as_facts_metric(f, "instrument.overhead_share");
    const as_finding        *memory = judgement(f, "memory");
    steady_check(f, checks, d);
    machine_check(f, checks);
    time_check(f, checks);
    if (above && as_metric_has(above) && above->value > 0)
        check_row(
            f, checks, "limits", AS_LEVEL_BAD,
            as_say(f, "%.0f %s faster than this machine can be", above->value, above->value == 1 ? "layer is" : "layers are"));
    if (memory && memory->level > AS_LEVEL_GOOD)
        check_row(f, checks, "memory", memory->level, "memory differs from the plan");
    if (cost && as_metric_has(cost) && cost->value > MAX_COST)
        check_row(f, checks, "instrument", AS_LEVEL_WARN, as_say(f, "measuring cost %.1f %% of the run", 100 * cost->value));
    if (*partial_words(t))
        check_row(f, checks, "whole", AS_LEVEL_WARN, "the run was stopped early");
}

static void run(assay_facts *f, const assay_trace *t)
{
    static const char *const groups[] = {"contention", "books", "memory", "instrument"};
    as_times                 times = as_times_read(f, t);
    drift                    d = drift_of(f, &times);
    as_fact_group           *g = as_facts_group(f, "verdict", "Verdict");
    overall_add(f, g, t, &d);
    if (!t->complete)
        as_facts_find(f, g, AS_LEVEL_WARN,
                      "The trace is partial: its end was never written. What follows covers the %zu samples in the file.", times.n);
    if (t->state == AS_TRACE_PARTIAL)
        as_facts_find(f, g, AS_LEVEL_WARN, "The run is partial: it stopped after %llu measured runs.",
                      (unsigned long long)t->n_runs);
    dominance_add(f, g);
    drift_add(f, g, &d);
    for (size_t i = 0; i < AS_COUNT(groups); i++) {
        const as_finding *found = judgement(f, groups[i]);
        if (found)
            as_facts_find(f, g, found->level, "%s", found->text);
    }
    checks_add(f, g, t, &d);
}

const as_analysis as_an_verdict = {.name = "verdict", .order = 1000, .run = run};

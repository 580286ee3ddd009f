/* an_books.c - time accounted for: how much of each run its spans explain, and how much nothing explains. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"

#define MAX_UNEXPLAINED 0.02

/* Uses the same runs as the layers' times, so that both tables add up. */
typedef struct books {
    double *wall, *nodes, *transfers, *unexplained;
    double  wall_sum, explained_sum;
    size_t  n;
} books;

/* The share of a run that recording its spans takes: this time lies between the spans, so they cannot explain it. */
static double own_share(const assay_trace *t, const books *b)
{
    size_t n_spans = 1; /* of the run itself */
    for (size_t i = 0; i < t->n_steps; i++)
        n_spans += !as_step_is_prologue(&t->steps[i]);
    double share = t->span_cost_ns * (double)n_spans * (double)b->n / b->wall_sum;
    return isfinite(share) && share > 0 ? share : 0;
}

static const char *const columns[] = {"entry|entry", "time|time", "share|share", NULL};

static bool books_open(assay_facts *f, const as_kept *k, books *b)
{
    double *numbers = AS_TAKE(&f->arena, double, 4 * k->n_runs);
    if (!numbers)
        return false;
    *b = (books){.wall = numbers,
                 .nodes = numbers + k->n_runs,
                 .transfers = numbers + 2 * k->n_runs,
                 .unexplained = numbers + 3 * k->n_runs};
    for (size_t i = 0; i < k->n_runs; i++) {
        const as_kept_run *r = &k->runs[i];
        if (!as_kept_counts(k, r))
            continue;
        b->wall[b->n] = r->wall_ns;
        b->transfers[b->n] = r->transfer_ns;
        b->nodes[b->n] = fmax(r->explained_ns - r->transfer_ns, 0);
        b->unexplained[b->n++] = r->wall_ns - r->explained_ns;
        b->wall_sum += r->wall_ns;
        b->explained_sum += r->explained_ns;
    }
    return true;
}

static const char *missing(const assay_trace *t, const as_kept *k)
{
    if (t->detail < AS_DETAIL_SEGMENT && !k->n_detailed && *t->detail_why)
        return t->detail_why;
    return k->n_runs ? "no recorded run has spans of its steps" : "no run was recorded";
}

static assay_metric mean(assay_facts *f, const double *ns, const books *b, const as_kept *k, const char *source, const char *reason)
{
    return b->n ? as_mean_metric(ns, b->n, b->n, "ns",
                                 as_say(f, "%s, mean over %zu%s runs", source, b->n, k->n_clean ? " uninterrupted" : ""))
                : as_metric_unavailable("ns", reason);
}

/* The values of a formula, one per run. */
static assay_metric derived(assay_metric m)
{
    if (as_metric_has(&m))
        m.kind = ASSAY_DERIVED;
    return m;
}

static void entry_add(assay_facts *f, as_table *table, const char *name, const double *ns, const books *b, const as_kept *k,
                      const char *source)
{
    assay_metric time = derived(mean(f, ns, b, k, source, "no run was recorded"));
    as_cell      cells[] = {{.text = name},
                            {.metric = time},
                            {.metric = as_metric_derived(time.value * (double)b->n / b->wall_sum, NAN, NAN, b->n, "ratio",
                                                         "time / time of the run, means over the same runs")}};
    as_facts_row(f, table, cells);
}

static const char *runs_words(assay_facts *f, const as_kept *k, const books *b)
{
    return as_say(f, "%zu%s runs%s", b->n, k->n_clean ? " uninterrupted" : " interrupted",
                  k->uses_detailed ? " recorded in detail outside the timed samples" : "");
}

static void verdict_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_kept *k, const books *b,
                        const assay_metric *share)
{
    const char *spans = k->by_segment ? "segment" : "step", *runs = runs_words(f, k, b);
    double      gap = 1 - share->value, normal = MAX_UNEXPLAINED + own_share(t, b);
    if (gap <= normal)
        as_facts_find(f, g, AS_LEVEL_GOOD,
                      "The %ss account for %.2f %% of the run's time; %.2f %% is not accounted for (up to %.2g %% is normal; %s).",
                      spans, 100 * share->value, 100 * gap, 100 * normal, runs);
    else
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "The %ss account for only %.2f %% of the run's time; %.2f %% is not accounted for (up to %.2g %% is normal; %s).",
            spans, 100 * share->value, 100 * gap, 100 * normal, runs);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "books", "Time accounted for");
    as_kept        k = as_kept_read(f, t);
    books          b;
    if (!books_open(f, &k, &b))
        return;
    const char  *reason = missing(t, &k);
    const char  *inner = k.by_segment ? "segment spans of the run" : "step spans of the run";
    assay_metric share = b.n ? as_metric_derived(b.explained_sum / b.wall_sum, NAN, NAN, b.n, "ratio",
                                                 "time covered by spans / wall time, over all recorded runs")
                             : as_metric_unavailable("ratio", reason);
    as_facts_add(f, g, "books.explained_share", "time accounted for", share);
    as_facts_add(f, g, "books.wall", "wall time per recorded run", mean(f, b.wall, &b, &k, "span of the run", reason));
    as_facts_add(f, g, "books.unexplained", "time not accounted for",
                 derived(mean(f, b.unexplained, &b, &k, "wall time - its spans", reason)));
    as_facts_add(f, g, "books.compute_memory", "split into compute and memory",
                 as_metric_unavailable("ratio", "not measured without hardware counters (PMU)"));
    if (b.n) {
        as_table *table = as_facts_table(f, g, "entries", "Where the time of a run goes", columns);
        entry_add(f, table, k.by_segment ? "segments" : "nodes", b.nodes, &b, &k, inner);
        entry_add(f, table, "transfers", b.transfers, &b, &k, inner);
        entry_add(f, table, "unexplained", b.unexplained, &b, &k, "wall time - time covered by spans");
        entry_add(f, table, "whole run", b.wall, &b, &k, "span of the run");
        verdict_add(f, g, t, &k, &b, &share);
    } else {
        as_facts_find(f, g, AS_LEVEL_WARN, "How much of the time is accounted for is unknown: %s.", reason);
    }
    as_facts_find(f, g, AS_LEVEL_NOTE,
                  "Without hardware counters (PMU), time spent computing and time spent waiting for memory cannot be told apart.");
}

const as_analysis as_an_books = {.name = "books", .order = 40, .run = run};

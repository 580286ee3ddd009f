/* an_books.c - the books of time: what the spans explain of each run, and what nothing explains. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/stats.h"

#define MAX_UNEXPLAINED 0.02

typedef struct books {
    double *wall, *nodes, *transfers, *unexplained, *share;
    size_t  n;
} books;

static const char *const columns[] = {"entry|entry", "time|time", "share|share", NULL};

static bool books_open(assay_facts *f, const as_kept *k, books *b)
{
    double *numbers = AS_TAKE(&f->arena, double, 5 * k->n_runs);
    if (!numbers)
        return false;
    *b = (books){numbers, numbers + k->n_runs, numbers + 2 * k->n_runs, numbers + 3 * k->n_runs, numbers + 4 * k->n_runs, 0};
    for (size_t i = 0; i < k->n_runs; i++) {
        const as_kept_run *r = &k->runs[i];
        if (!as_kept_uses(k, r) || !(r->wall_ns > 0))
            continue;
        b->wall[b->n] = r->wall_ns;
        b->transfers[b->n] = r->transfer_ns;
        b->nodes[b->n] = fmax(r->explained_ns - r->transfer_ns, 0);
        b->unexplained[b->n] = fmax(r->wall_ns - r->explained_ns, 0);
        b->share[b->n++] = r->explained_ns / r->wall_ns;
    }
    return true;
}

static const char *missing(const assay_trace *t, const as_kept *k)
{
    if (t->detail < AS_DETAIL_SEGMENT && !k->n_detailed && *t->detail_why)
        return t->detail_why;
    return k->n_runs ? "no kept run has spans inside it" : "no whole run's span was kept";
}

/* A median over the runs of what a formula gave for each. */
static assay_metric derived(assay_metric m)
{
    if (as_metric_has(&m))
        m.kind = ASSAY_DERIVED;
    return m;
}

static void entry_add(assay_facts *f, as_table *table, const char *name, const double *ns, const books *b, const char *source)
{
    assay_metric time = derived(as_median_metric(f, ns, b->n, "ns", source, "no run was kept"));
    double      *shares = AS_TAKE(&f->arena, double, b->n), *scratch = AS_TAKE(&f->arena, double, b->n);
    if (!shares || !scratch || !b->n)
        return;
    for (size_t i = 0; i < b->n; i++)
        shares[i] = ns[i] / b->wall[i];
    as_cell cells[] = {
        {.text = name},
        {.metric = time},
        {.metric = as_metric_derived(as_median(shares, b->n, scratch), NAN, NAN, b->n, "ratio", "time / wall, median over runs")}};
    as_facts_row(f, table, cells);
}

static void verdict_add(assay_facts *f, as_fact_group *g, const as_kept *k, const books *b, const assay_metric *share)
{
    const char *spans = k->by_segment ? "segment" : "step";
    double      gap = 1 - share->value;
    if (gap <= MAX_UNEXPLAINED)
        as_facts_find(
            f, g, AS_LEVEL_GOOD,
            "The books close: disjoint %s spans explain %.2f %% of the run, %.2f %% stays unexplained (allowed 2 %%, %zu runs%s).",
            spans, 100 * share->value, 100 * gap, b->n, k->uses_detailed ? " recorded in detail outside the timed samples" : "");
    else
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "The books do not close: %s spans explain %.2f %% of the run; %.2f %% is unexplained, where 2 %% is allowed (%zu runs%s).",
            spans, 100 * share->value, 100 * gap, b->n, k->uses_detailed ? " recorded in detail outside the timed samples" : "");
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "books", "Books of time");
    as_kept        k = as_kept_read(f, t);
    books          b;
    if (!books_open(f, &k, &b))
        return;
    const char  *reason = missing(t, &k);
    const char  *inner = k.by_segment ? "segment spans inside the run" : "step spans inside the run";
    assay_metric share =
        derived(as_median_metric(f, b.share, b.n, "ratio", "union of spans / wall of the same run, median over runs", reason));
    as_facts_add(f, g, "books.explained_share", "explained share", share);
    as_facts_add(f, g, "books.wall", "wall time of a kept run",
                 as_median_metric(f, b.wall, b.n, "ns", "span of the whole run", reason));
    as_facts_add(f, g, "books.unexplained", "unexplained time",
                 derived(as_median_metric(f, b.unexplained, b.n, "ns", "wall - union of spans", reason)));
    as_facts_add(f, g, "books.compute_memory", "split into compute and memory",
                 as_metric_unavailable("ratio", "not measured without a PMU: spans tell how long, not what was waited for"));
    if (b.n) {
        as_table *table = as_facts_table(f, g, "entries", "Where a run's time goes", columns);
        entry_add(f, table, k.by_segment ? "segments" : "nodes", b.nodes, &b, inner);
        entry_add(f, table, "transfers", b.transfers, &b, inner);
        entry_add(f, table, "unexplained", b.unexplained, &b, "wall - union of spans");
        entry_add(f, table, "whole run", b.wall, &b, "span of the whole run");
        verdict_add(f, g, &k, &b, &share);
    } else {
        as_facts_find(f, g, AS_LEVEL_WARN, "The books cannot be drawn up: %s.", reason);
    }
    as_facts_find(f, g, AS_LEVEL_NOTE,
                  "How much of the time is computing and how much is waiting for memory is not measured without a PMU.");
}

const as_analysis as_an_books = {.name = "books", .order = 40, .run = run};

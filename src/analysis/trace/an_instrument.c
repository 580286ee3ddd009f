/* an_instrument.c - the cost of measuring: at most 30 ns per span and 0.5 % of the run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/stats.h"

#define MAX_SPAN_NS 30.0
#define MAX_SHARE   0.005

static const char *const detail_names[] = {
    [AS_DETAIL_RUN] = "run", [AS_DETAIL_SEGMENT] = "segment", [AS_DETAIL_STEP] = "step", [AS_DETAIL_PART] = "part"};

static assay_metric stated(double ns, const char *source, const char *reason)
{
    return isfinite(ns) && ns >= 0 && ns < 1e18 ? as_metric_measured(ns, NAN, NAN, 1, "ns", source)
                                                : as_metric_unavailable("ns", reason);
}

/* Timed runs only: detailed runs happen outside the samples, so their cost does not matter. */
static assay_metric spans_per_run(assay_facts *f, const assay_trace *t)
{
    as_kept k = as_kept_read(f, t);
    double *counts = AS_TAKE(&f->arena, double, k.n_runs), *scratch = AS_TAKE(&f->arena, double, k.n_runs);
    size_t  n = 0;
    for (size_t i = 0; counts && scratch && i < k.n_runs; i++)
        if (!k.runs[i].detailed)
            counts[n++] = k.runs[i].n_spans;
    if (n)
        return as_metric_derived(as_median(counts, n, scratch), NAN, NAN, n, "1", "recorded spans per timed run, median");
    if (k.n_runs)
        return as_metric_counted(0, "1", "spans of the trace: only runs outside the samples have them");
    return as_metric_unavailable("1", "no spans were recorded");
}

static double runs_per_sample(const assay_trace *t)
{
    return t->n_samples && t->n_runs ? (double)t->n_runs / (double)t->n_samples : 1;
}

/* A sample is two readings of the clock; they are part of what it times. */
static assay_metric share_of(const assay_trace *t, const assay_metric *span, const assay_metric *count, const assay_metric *clock,
                             const assay_metric *median)
{
    const assay_metric *parts[] = {span, count, clock, median};
    for (size_t i = 0; i < AS_COUNT(parts); i++)
        if (!as_metric_has(parts[i]))
            return as_metric_unavailable("ratio", parts[i]->reason);
    if (!(median->value > 0))
        return as_metric_unavailable("ratio", "the median latency is not above zero");
    double cost_ns = span->value * count->value + 2 * clock->value / runs_per_sample(t);
    return as_metric_derived(cost_ns / median->value, NAN, NAN, count->n, "ratio",
                             "(cost per span x spans per run + 2 clock readings / runs per sample) / median latency");
}

static void promises_add(assay_facts *f, as_fact_group *g, const assay_metric *span, const assay_metric *share)
{
    bool cheap = !as_metric_has(span) || span->value <= MAX_SPAN_NS, small = !as_metric_has(share) || share->value <= MAX_SHARE;
    if (!as_metric_has(span) && !as_metric_has(share))
        as_facts_find(f, g, AS_LEVEL_NOTE, "The cost of measuring is not known: %s.", span->reason);
    else if (!as_metric_has(share))
        as_facts_find(f, g, cheap ? AS_LEVEL_NOTE : AS_LEVEL_WARN,
                      "A span costs %.1f ns (allowed: 30 ns); its share of the run is not known: %s.", span->value, share->reason);
    else
        as_facts_find(f, g, cheap && small ? AS_LEVEL_GOOD : AS_LEVEL_WARN,
                      "Measuring took %.3f %% of the run, %.1f ns per span (allowed: 0.5 %% and 30 ns)%s.", 100 * share->value,
                      span->value, cheap && small ? "" : ": more than it should");
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group      *g = as_facts_group(f, "instrument", "Cost of measuring");
    const assay_metric *found = as_facts_metric(f, "latency.median");
    assay_metric        median = found ? *found : as_metric_unavailable("ns", "there is no median latency");
    assay_metric        span = stated(t->span_cost_ns, "recording many spans before the run", "the cost per span was not measured");
    assay_metric        clock =
        stated(t->clock_cost_ns, "reading the clock many times when it was opened", "the clock's cost was not measured");
    assay_metric count = spans_per_run(f, t), share = share_of(t, &span, &count, &clock, &median);
    as_facts_add(f, g, "instrument.overhead_share", "measuring, share of the run", share);
    as_facts_add(f, g, "instrument.span_cost", "cost per span", span);
    as_facts_add(f, g, "instrument.spans_per_run", "spans per timed run", count);
    as_facts_add(f, g, "instrument.clock_cost", "one reading of the clock", clock);
    as_facts_add(f, g, "instrument.dropped_spans", "spans lost", as_metric_counted(t->dropped_spans, "1", "trace"));
    const char *detail = (unsigned)t->detail < AS_COUNT(detail_names) ? detail_names[t->detail] : "unknown";
    as_facts_note(f, "instrument.detail", detail);
    promises_add(f, g, &span, &share);
    if (*t->detail_why)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Timed runs have one span per %s: %s.", detail, t->detail_why);
    if (t->dropped_spans)
        as_facts_find(f, g, AS_LEVEL_WARN, "%" PRIu64 " spans were lost because a buffer was full; totals do not include them.",
                      t->dropped_spans);
}

const as_analysis as_an_instrument = {.name = "instrument", .order = 80, .run = run};

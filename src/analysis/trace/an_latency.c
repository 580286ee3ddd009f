/* an_latency.c - how long a run takes: the median and its interval, quantiles where the sample allows them. */
#include <inttypes.h>
#include <math.h>

#include "analysis/trace/evidence.h"
#include "base/stats.h"
#include "base/text.h"

static const struct {
    const char *key, *label;
    double      q;
} quantiles[] = {
    {"latency.p5", "5th percentile", .05},   {"latency.p25", "25th percentile", .25}, {"latency.p75", "75th percentile", .75},
    {"latency.p95", "95th percentile", .95}, {"latency.p99", "99th percentile", .99},
};

/* A quantile with too few samples beyond it would be a guess. */
static assay_metric quantile(assay_facts *f, const double *sorted, size_t n, double q, const char *source)
{
    size_t needs = as_quantile_needs(q), lo, hi;
    if (n < needs)
        return as_metric_unavailable("ns", as_say(f, "needs %zu samples, has %zu", needs, n));
    double value = as_quantile_sorted(sorted, n, q);
    if (!as_quantile_ranks(n, q, AS_CONFIDENCE, &lo, &hi))
        return as_metric_measured(value, NAN, NAN, n, "ns", source);
    return as_metric_measured(value, fmin(sorted[lo], value), fmax(sorted[hi], value), n, "ns", source);
}

static void spread_add(assay_facts *f, as_fact_group *g, const as_times *times, const char *source)
{
    double *sorted = AS_TAKE(&f->arena, double, times->n), sum = 0;
    if (!sorted || !times->n) {
        as_facts_add(f, g, "latency.min", "fastest", as_metric_unavailable("ns", "no sample was measured"));
        return;
    }
    for (size_t i = 0; i < times->n; i++)
        sum += sorted[i] = times->ns[i];
    as_sort(sorted, times->n);
    as_facts_add(f, g, "latency.min", "fastest", as_metric_measured(sorted[0], NAN, NAN, times->n, "ns", source));
    for (size_t i = 0; i < AS_COUNT(quantiles); i++)
        as_facts_add(f, g, quantiles[i].key, quantiles[i].label, quantile(f, sorted, times->n, quantiles[i].q, source));
    double mean = fmin(fmax(sum / (double)times->n, sorted[0]), sorted[times->n - 1]);
    as_facts_add(f, g, "latency.max", "slowest", as_metric_measured(sorted[times->n - 1], NAN, NAN, times->n, "ns", source));
    as_facts_add(f, g, "latency.mean", "mean (not robust)", as_metric_measured(mean, NAN, NAN, times->n, "ns", source));
    as_facts_add(f, g, "latency.mad", "median absolute deviation",
                 as_metric_measured(as_mad(times->ns, times->n, sorted), NAN, NAN, times->n, "ns", source));
}

static void effective_add(assay_facts *f, as_fact_group *g, const as_times *times)
{
    as_interval  interval;
    double      *scratch = AS_TAKE(&f->arena, double, times->n);
    assay_metric m = as_metric_unavailable("1", as_say(f, "needs 40 samples, has %zu", times->n));
    if (scratch && as_segment_interval(times->ns, times->n, AS_CONFIDENCE, scratch, &interval))
        m = as_metric_derived(interval.n_effective, NAN, NAN, times->n, "1",
                              "samples x variance of shuffled / of real segment medians");
    as_facts_add(f, g, "latency.n_effective", "effective samples", m);
}

static void cpu_add(assay_facts *f, as_fact_group *g, const as_times *times)
{
    double *cpu = AS_TAKE(&f->arena, double, times->n_cpu);
    size_t  n = 0;
    for (size_t i = 0; cpu && i < times->n; i++)
        if (!isnan(times->cpu_ns[i]))
            cpu[n++] = times->cpu_ns[i];
    as_facts_add(f, g, "latency.cpu_median", "CPU time of the calling thread",
                 as_median_metric(f, cpu, n, "ns", "thread CPU clock, per run", "the thread's CPU clock was not read"));
}

/* Runs per second: the bounds of the time swap sides. */
static assay_metric throughput(const assay_trace *t, const assay_metric *median)
{
    double batch = (double)t->batch;
    if (!t->batch)
        return as_metric_unavailable("1/s", "the model's batch size is fixed");
    if (!as_metric_has(median) || !(median->value > 0) || !isfinite(batch * 1e9 / median->value))
        return as_metric_unavailable("1/s", as_metric_has(median) ? "the median is zero" : "there is no median");
    bool bounded = median->lo > 0;
    return as_metric_derived(batch * 1e9 / median->value, bounded ? batch * 1e9 / median->hi : (double)NAN,
                             bounded ? batch * 1e9 / median->lo : (double)NAN, median->n, "1/s", "batch / latency.median");
}

static assay_metric once(double ns, const char *what)
{
    return isfinite(ns) && ns >= 0 ? as_metric_measured(ns, NAN, NAN, 1, "ns", "one interval of the trace's clock")
                                   : as_metric_unavailable("ns", what);
}

static void begin_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    uint64_t n_warmup = 0;
    for (size_t i = 0; i < t->n_warmup; i++)
        n_warmup += t->warmup[i].n_runs;
    as_facts_add(f, g, "latency.first_run", "first run (cold)", once(t->first_run_ns, "the first run was not measured separately"));
    as_facts_add(f, g, "latency.plan", "building the plan", once(t->plan_ns, "building the plan was not measured"));
    as_facts_add(f, g, "latency.compile", "compiling on the device", once(t->compile_ns, "compiling was not measured"));
    as_facts_add(f, g, "latency.warmup_runs", "warm-up runs", as_metric_counted(n_warmup, "1", "trace"));
    as_facts_add(f, g, "latency.runs", "measured runs", as_metric_counted(t->n_runs, "1", "trace"));
    as_facts_add(f, g, "latency.samples", "samples", as_metric_counted(t->n_samples, "1", "trace"));
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "latency", "Latency");
    as_times       times = as_times_read(f, t);
    const char    *source = as_say(f, "clock %s, wall time of a sample / its runs", *t->clock_name ? t->clock_name : "unknown");
    assay_metric   median = as_median_metric(f, times.ns, times.n, "ns", source, "no sample was measured");
    as_facts_add(f, g, "latency.median", "median latency", median);
    as_facts_add(f, g, "latency.throughput", "throughput", throughput(t, &median));
    spread_add(f, g, &times, source);
    cpu_add(f, g, &times);
    effective_add(f, g, &times);
    begin_add(f, g, t);
    if (times.n)
        as_facts_series(f, g,
                        &(as_series){.key = "samples",
                                     .label = "samples in the order taken",
                                     .x_unit = "s",
                                     .y_unit = "ns",
                                     .kind = ASSAY_MEASURED,
                                     .source = source,
                                     .x = times.at_s,
                                     .y = times.ns,
                                     .n = times.n});
    if (t->sample_every > 1)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "The record is long: one sample in %" PRIu64 ", evenly spaced, was read, and the times here are of those.",
                      t->sample_every);
    if (times.n && isnan(median.lo))
        as_facts_find(f, g, AS_LEVEL_WARN, "Only %zu samples: the median has no interval, which needs 40.", times.n);
    else if (times.n)
        as_facts_find(
            f, g, AS_LEVEL_NOTE,
            "The 95 %% interval of the median allows for samples that depend on one another; it was measured in one session.");
}

const as_analysis as_an_latency = {.name = "latency", .order = 10, .run = run};

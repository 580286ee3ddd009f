/* an_executive.c - the run for a reader with one minute: findings, highlights, issues, what to try, and one score.
 *
 * Every sentence names the facts and rows that it is made of. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"

#define NO_LIMIT_SHARE 0.02 /* of the time in layers without a limit: above, there is no score */

static const char *const columns[] = {"kind|kind", "text|sentence", "cites|stands on", NULL};

static void say(assay_facts *f, as_table *t, const char *kind, const char *text, const char *cites)
{
    if (text && *text)
        as_facts_row(f, t, (as_cell[]){{.text = kind}, {.text = text}, {.text = cites}});
}

static const assay_metric *metric_of(const assay_facts *f, const char *key)
{
    const assay_metric *m = as_facts_metric(f, key);
    return m && as_metric_has(m) ? m : NULL;
}

/* --- The score --------------------------------------------------------------------------------------------------------- */

/* The geometric mean of the shares of their limits over the layers, each weighted by its share of the time. */
static assay_metric score(assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "roofline", "steps");
    double          weight = 0, lost = 0, sum = 0, lo = 0, hi = 0;
    uint64_t        n = 0;
    if (!t || !t->n_rows)
        return as_metric_unavailable("1", "no layer was compared with a limit");
    for (int i = 0; i < t->n_rows; i++) {
        const assay_metric *time = as_metric_at(t, i, "time"), *share = as_metric_at(t, i, "of_roof");
        if (!time || !(time->value > 0))
            return as_metric_unavailable("1", as_say(f, "%s has no time", as_words_at(t, i, "name")));
        weight += time->value;
        if (!share || !(share->value > 0)) {
            lost += time->value;
            continue;
        }
        bool bounded = time->lo > 0 && time->hi >= time->lo;
        n = !n || time->n < n ? time->n : n;
        sum += time->value * log(share->value);
        lo += time->value * (bounded ? log(fmin(1, share->value * time->value / time->hi)) : (double)NAN);
        hi += time->value * (bounded ? log(fmin(1, share->value * time->value / time->lo)) : (double)NAN);
    }
    if (!(weight > lost) || lost > NO_LIMIT_SHARE * weight)
        return as_metric_unavailable("1",
                                     as_say(f, "layers with %.2g %% of the time have no share of a limit", 100 * lost / weight));
    double by = weight - lost, value = 100 * exp(sum / by);
    bool   bounded = isfinite(lo) && isfinite(hi);
    return as_metric_derived(value, bounded ? fmin(value, 100 * exp(lo / by)) : (double)NAN,
                             bounded ? fmax(value, 100 * exp(hi / by)) : (double)NAN, n, "1",
                             "geometric mean of the layers' shares of their limits, weighted by time, x 100");
}

/* --- Sentences ----------------------------------------------------------------------------------------------------------- */

static void speed_say(assay_facts *f, as_table *t)
{
    const assay_metric *median = metric_of(f, "latency.median"), *rate = metric_of(f, "latency.throughput"),
                       *of_limit = metric_of(f, "roofline.of_roof");
    if (!median)
        return;
    char interval[128];
    as_show_interval(interval, sizeof interval, median);
    say(f, t, "finding",
        as_say(f, "A run takes %s%s%s%s%s%s.", as_say_number(f, median->value, "ns"), *interval ? " (95 % interval " : "", interval,
               *interval ? ")" : "", rate ? ", " : "", rate ? as_say(f, "%.0f items per second", rate->value) : ""),
        rate ? "latency.median latency.throughput" : "latency.median");
    if (of_limit)
        say(f, t, of_limit->value >= .6 ? "highlight" : "finding",
            as_say(f, "Its layers run at %.0f %% of what this machine's limits allow.", 100 * of_limit->value), "roofline.of_roof");
}

static void hotspot_say(assay_facts *f, as_table *out)
{
    static const char *const sources[] = {"layers", "spans", "samples"};
    for (size_t k = 0; k < AS_COUNT(sources); k++) {
        const as_table *t = as_facts_table_find(f, "hotspots", sources[k]);
        if (!t || !t->n_rows)
            continue;
        const assay_metric *potential = as_metric_at(t, 0, "potential");
        const char         *category = as_words_at(t, 0, "category");
        say(f, out, "finding",
            as_say(f, "%s takes %.0f %% of the time%s%s%s.", as_words_at(t, 0, "name"), 100 * as_value_at(t, 0, "share"),
                   strcmp(category, "unknown") ? ", category " : "", strcmp(category, "unknown") ? category : "",
                   potential ? as_say(f, "; %.0f %% of the run is above the limit there", 100 * potential->value) : ""),
            as_say(f, "hotspots.%s#0", sources[k]));
    }
}

static void bottlenecks_say(assay_facts *f, as_table *out)
{
    const as_table *t = as_facts_table_find(f, "bottlenecks", "bottlenecks");
    for (int i = 0; t && i < t->n_rows; i++) {
        const char *severity = as_words_at(t, i, "severity");
        if (strcmp(as_words_at(t, i, "state"), "found"))
            continue;
        bool issue = !strcmp(severity, "high") && strcmp(as_words_at(t, i, "rule"), "compute");
        say(f, out, issue ? "issue" : "finding",
            as_say(f, "Bottleneck %s, severity %s, confidence %s: %s.", as_words_at(t, i, "name"), severity,
                   as_words_at(t, i, "confidence"), as_words_at(t, i, "evidence")),
            as_say(f, "bottlenecks.bottlenecks#%d", i));
    }
}

static void trust_say(assay_facts *f, as_table *t)
{
    const assay_metric *above = metric_of(f, "roofline.above"), *books = metric_of(f, "books.explained_share"),
                       *planned = metric_of(f, "memory.peak_planned"), *observed = metric_of(f, "memory.peak_observed");
    if (above && above->value > 0)
        say(f, t, "issue", as_say(f, "%.0f layers are faster than this machine can be: a measuring error.", above->value),
            "roofline.above");
    if (books)
        say(f, t, books->value >= .98 ? "highlight" : "issue",
            as_say(f, "%.1f %% of the time is accounted for by layers.", 100 * books->value), "books.explained_share");
    if (planned && observed && planned->value == observed->value)
        say(f, t, "highlight", as_say(f, "Peak memory is what the plan stated to the byte: %.0f bytes.", planned->value),
            "memory.peak_planned memory.peak_observed");
}

static void advice_say(assay_facts *f, as_table *out)
{
    const as_table *t = as_facts_table_find(f, "recommendations", "recommendations");
    for (int i = 0; t && i < t->n_rows && i < 3; i++) {
        const assay_metric *change = as_metric_at(t, i, "change");
        say(f, out, "recommendation",
            as_say(f, "%s. Because: %s%s. Proof: %s", as_words_at(t, i, "text"), as_words_at(t, i, "because"),
                   change ? as_say(f, " (estimated %+.0f %% of the time per %s)", 100 * change->value, as_words_at(t, i, "per"))
                          : "",
                   as_words_at(t, i, "command")),
            as_say(f, "recommendations.recommendations#%d", i));
    }
}

static void run(assay_facts *f, const assay_trace *t)
{
    if (t->n_arms > 1 || (!t->n_samples && !t->n_looks && !as_facts_table_find(f, "hotspots", "spans")))
        return;
    assay_metric   value = score(f);
    as_fact_group *g = as_facts_group(f, "executive", "Executive summary");
    as_facts_add(f, g, "executive.score", "score: 100 is the limit of this machine in every layer", value);
    as_table *table = as_facts_table(f, g, "sentences", "In short", columns);
    speed_say(f, table);
    hotspot_say(f, table);
    bottlenecks_say(f, table);
    trust_say(f, table);
    advice_say(f, table);
}

const as_analysis as_an_executive = {
    .name = "executive", .order = 950, .of = 1u << AS_OF_NETWORK | 1u << AS_OF_SESSION | 1u << AS_OF_PROGRAM, .run = run};

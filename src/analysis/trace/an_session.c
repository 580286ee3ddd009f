/* an_session.c - a session of the user's own code: its threads, what recording cost, and its operations by their context. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/stats.h"
#include "base/text.h"

#define TOTALS "totals of call paths, which count every span"

static double ns_of(const assay_trace *t, uint64_t ticks) { return (double)ticks * t->ns_per_tick; }

/* The time of all threads, each from its joining to its leaving: their outermost paths. */
static double threads_ns(const assay_trace *t)
{
    uint64_t ticks = 0;
    for (size_t i = 0; i < t->n_stack_totals; i++)
        if (t->stacks[t->stack_totals[i].stack].parent < 0)
            ticks += t->stack_totals[i].sum_ticks;
    return ns_of(t, ticks);
}

/* --- The whole ------------------------------------------------------------------------------------------------ */

static uint64_t spans_in_all(const assay_trace *t)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->n_stack_totals; i++)
        if (t->stacks[t->stack_totals[i].stack].parent >= 0)
            n += t->stack_totals[i].count;
    return n;
}

/* The time of all threads, each from its joining to its leaving, and what of it lies in a span of theirs. */
static void threads_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    uint64_t whole = 0, longest = 0, in_spans = 0;
    for (size_t i = 0; i < t->n_stack_totals; i++) {
        const as_stack_total *x = &t->stack_totals[i];
        int                   parent = t->stacks[x->stack].parent;
        if (parent < 0) {
            whole += x->sum_ticks;
            longest = x->sum_ticks > longest ? x->sum_ticks : longest;
        } else if (t->stacks[parent].parent < 0) {
            in_spans += x->sum_ticks;
        }
    }
    as_facts_add(f, g, "session.threads", "threads", as_metric_counted(t->n_lanes, "1", "threads that joined the session"));
    as_facts_add(f, g, "session.time", "time of the longest thread",
                 as_metric_measured(ns_of(t, longest), NAN, NAN, 1, "ns", "from joining the session to leaving it"));
    as_facts_add(f, g, "session.in_spans", "time inside spans, share of the threads' time",
                 whole ? as_metric_derived((double)in_spans / (double)whole, NAN, NAN, t->n_lanes, "ratio",
                                           "outermost spans / time of all threads")
                       : as_metric_unavailable("ratio", "the record has no totals: it was cut off"));
}

static void cost_add(assay_facts *f, as_fact_group *g, const assay_trace *t, uint64_t n_spans)
{
    double       collector = as_trace_metric_last(t, AS_METRIC_COLLECTOR_CPU), whole = threads_ns(t);
    assay_metric span =
        isfinite(t->span_cost_ns) && t->span_cost_ns > 0
            ? as_metric_measured(t->span_cost_ns, NAN, NAN, 15, "ns", "recording many spans when the session began, median")
            : as_metric_unavailable("ns", "the cost of a span was not measured");
    as_facts_add(f, g, "session.span_cost", "cost of a span", span);
    as_facts_add(f, g, "session.cost_share", "recording, share of the threads' time",
                 whole > 0 && as_metric_has(&span)
                     ? as_metric_derived((double)n_spans * span.value / whole, NAN, NAN, n_spans, "ratio",
                                         "spans x cost of a span / time of all threads")
                     : as_metric_unavailable("ratio", "the cost of a span or the time of the threads is not known"));
    as_facts_add(f, g, "session.collector_cpu", "CPU time of the collecting thread",
                 collector >= 0 ? as_metric_measured(collector, NAN, NAN, 1, "ns", "clock_gettime(CLOCK_THREAD_CPUTIME_ID)")
                                : as_metric_unavailable("ns", "the session had no collecting thread, or was cut off"));
}

/* Threads that could run and had no CPU lost that time to others; it is not waiting of their own. */
static void starves_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    double queued = as_trace_metric_last(t, AS_METRIC_QUEUED), whole = threads_ns(t);
    as_facts_add(f, g, "session.starves", "time that others had the CPUs, share of the threads' time",
                 queued >= 0 && whole > 0
                     ? as_metric_derived(fmin(1, queued / whole), NAN, NAN, t->n_lanes, "ratio",
                                         "/proc/self/task/*/schedstat, time in the run queue / time of all threads")
                     : as_metric_unavailable("ratio", "the system does not tell how long threads wait for a CPU (no schedstat)"));
}

/* --- Operations ------------------------------------------------------------------------------------------------- */

static const char *const columns[] = {"operation|operation", "device|device",   "batch|batch",     "sequence|sequence",
                                      "precision|precision", "level|optimised", "calls|calls",     "mean|mean",
                                      "median|median",       "p95|p95",         "share|share",     "throughput|items/s",
                                      "rate|FLOP/s",         "bandwidth|B/s",   "details|context", NULL};

/* What else is known of it, for people. */
static const char *context_say(assay_facts *f, const as_trace_context *c)
{
    const char *text = "";
    const struct {
        const char *label, *value;
    } words[] = {{"layer", c->layer}, {"phase", c->phase}, {"kernel", c->kernel}, {"revision", c->revision}};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (*words[i].value)
            text = as_say(f, "%s%s%s %s", text, *text ? ", " : "", words[i].label, words[i].value);
    if (c->parameters)
        text = as_say(f, "%s%s%" PRIu64 " parameters", text, *text ? ", " : "", c->parameters);
    if (c->threads > 0)
        text = as_say(f, "%s%s%d threads", text, *text ? ", " : "", c->threads);
    if (c->parallel)
        text = as_say(f, "%s%sparallel", text, *text ? ", " : "");
    return text;
}

static as_cell number(assay_metric m) { return (as_cell){.metric = m}; }
static as_cell count_cell(uint64_t n, const char *reason)
{
    return number(n ? as_metric_counted(n, "1", "as the program stated it") : as_metric_unavailable("1", reason));
}
static as_cell rate_cell(double amount, double ns, const char *unit, const char *formula, const char *reason)
{
    return number(amount > 0 && ns > 0 ? as_metric_derived(amount / ns * 1e9, NAN, NAN, 1, unit, formula)
                                       : as_metric_unavailable(unit, reason));
}

/* All calls of one frame with a context: a frame has one, and each context has one frame per name and device. */
static void operation_add(assay_facts *f, as_table *table, const assay_trace *t, size_t frame, double whole_ns)
{
    const as_trace_frame   *fr = &t->frames[frame];
    const as_trace_context *c = &t->contexts[fr->context];
    uint64_t                count = 0, ticks = 0, flops = 0, bytes = 0;
    for (size_t i = 0; i < t->n_stack_totals; i++)
        if ((size_t)t->stacks[t->stack_totals[i].stack].frame == frame) {
            count += t->stack_totals[i].count;
            ticks += t->stack_totals[i].sum_ticks;
            flops += t->stack_totals[i].flops;
            bytes += t->stack_totals[i].bytes;
        }
    if (!count)
        return;
    size_t  n = 0;
    double *kept = AS_TAKE(&f->arena, double, t->n_spans);
    for (size_t i = 0; kept && i < t->n_spans; i++)
        if (t->spans[i].kind == AS_SPAN_USER && (size_t)t->spans[i].step == frame)
            kept[n++] = ns_of(t, t->spans[i].end_ticks - t->spans[i].begin_ticks);
    double       total = ns_of(t, ticks);
    assay_metric median = as_median_metric(f, kept, n, "ns", "spans that were kept", "no span of it was kept");
    if (n)
        as_sort(kept, n);
    as_cell cells[] = {
        {.text = fr->name},
        {.text = fr->object},
        count_cell(c->batch, "the program did not state a batch size"),
        count_cell(c->sequence, "the program did not state a sequence length"),
        {.text = c->precision},
        {.text = c->optimisation},
        number(as_metric_counted(count, "1", TOTALS)),
        number(as_metric_measured(total / (double)count, NAN, NAN, count, "ns", TOTALS)),
        number(median),
        number(n >= 20 ? as_metric_measured(as_quantile_sorted(kept, n, .95), NAN, NAN, n, "ns", "spans that were kept")
                       : as_metric_unavailable("ns", "needs 20 calls whose spans were kept")),
        number(whole_ns > 0
                   ? as_metric_derived(total / whole_ns, NAN, NAN, count, "ratio", "time of its calls / time of all threads")
                   : as_metric_unavailable("ratio", "the time of the threads is not known")),
        rate_cell((double)count * (double)(c->batch ? c->batch : 1), total, "1/s",
                  c->batch ? "batch x calls / time" : "calls / time", "it took no time"),
        rate_cell((double)flops, total, "flop/s", "stated flops / time", "the program did not state its flops"),
        rate_cell((double)bytes, total, "byte/s", "stated bytes / time", "the program did not state its bytes"),
        {.text = context_say(f, c)}};
    as_facts_row(f, table, cells);
}

static void operations_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    bool any = false;
    for (size_t i = 0; i < t->n_frames; i++)
        any = any || t->frames[i].context >= 0;
    if (!any)
        return;
    as_table *table = as_facts_table(f, g, "operations", "Operations", columns);
    for (size_t i = 0; table && i < t->n_frames && f->status == ASSAY_OK; i++)
        if (t->frames[i].context >= 0)
            operation_add(f, table, t, i, threads_ns(t));
}

/* The program's own numbers: the last value of each, and how many there were. */
static void numbers_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    static const char *const heads[] = {"name|number", "unit|unit",   "n|values",  "first|first",
                                        "last|last",   "least|least", "most|most", NULL};
    enum { MOST = 64 };
    const char *seen[MOST];
    int         n_seen = 0;
    as_table   *table = NULL;
    for (size_t i = 0; i < t->n_metrics && n_seen < MOST; i++) {
        const as_trace_metric *m = &t->metrics[i];
        bool                   known = !strncmp(m->name, "session.", 8) || !strncmp(m->name, "memory.", 7);
        for (int k = 0; k < n_seen; k++)
            known = known || !strcmp(seen[k], m->name);
        if (known)
            continue;
        seen[n_seen++] = m->name;
        uint64_t n = 0;
        double   last = m->value, least = m->value, most = m->value;
        for (size_t k = i; k < t->n_metrics; k++)
            if (!strcmp(t->metrics[k].name, m->name)) {
                n++;
                last = t->metrics[k].value;
                least = fmin(least, last);
                most = fmax(most, last);
            }
        if (!table && !(table = as_facts_table(f, g, "numbers", "Numbers of the program", heads)))
            return;
        const double values[] = {m->value, last, least, most};
        as_cell      cells[7] = {{.text = m->name}, {.text = m->unit}, number(as_metric_counted(n, "1", "values recorded"))};
        for (int k = 0; k < 4; k++)
            cells[3 + k] =
                number(isfinite(values[k])
                           ? as_metric_measured(values[k], NAN, NAN, n, *m->unit ? m->unit : "1", "the program's own number")
                           : as_metric_unavailable(*m->unit ? m->unit : "1", "the program gave no finite number"));
        as_facts_row(f, table, cells);
    }
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "session", "Session");
    uint64_t       n = spans_in_all(t);
    threads_add(f, g, t);
    as_facts_add(f, g, "session.spans", "spans", as_metric_counted(n, "1", TOTALS));
    as_facts_add(f, g, "session.kept", "spans kept one by one", as_metric_counted(t->n_spans, "1", "spans of the record"));
    as_facts_add(f, g, "session.complete", "the record has its end (1) or was cut off (0)",
                 as_metric_counted(t->complete, "1", "the last chunk of the record"));
    starves_add(f, g, t);
    cost_add(f, g, t, n);
    operations_add(f, g, t);
    numbers_add(f, g, t);
    if (!t->complete)
        as_facts_find(f, g, AS_LEVEL_WARN,
                      "The record was cut off: the program or its session did not end in order, and totals are missing.");
    if (t->dropped_spans)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%" PRIu64 " spans came faster than they could be collected and are only in the totals.",
                      t->dropped_spans);
    if (t->user_spans_left)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%" PRIu64 " spans are only in the totals: option history keeps %zu.",
                      t->user_spans_left, t->n_spans);
    if (as_trace_metric_last(t, AS_METRIC_TOO_DEEP) > 0)
        as_facts_find(f, g, AS_LEVEL_WARN, "%.0f spans were nested more than 256 deep and were not recorded.",
                      as_trace_metric_last(t, AS_METRIC_TOO_DEEP));
}

const as_analysis as_an_session = {.name = "session", .order = 10, .of = 1u << AS_OF_SESSION, .run = run};

/* an_cost.c - the work of one run by the definitions of its operators, and the rate of this work. */
#include <math.h>

#include "analysis/trace/evidence.h"

typedef struct cost_sum {
    uint64_t flops, special, bytes_read, bytes_written, issued_flops;
    bool     overflow, has_issued;
} cost_sum;

static void sum(cost_sum *c, uint64_t *to, uint64_t value) { c->overflow |= __builtin_add_overflow(*to, value, to); }

static assay_metric counted(const cost_sum *c, const assay_trace *t, uint64_t value, const char *unit)
{
    if (!t->n_steps)
        return as_metric_unavailable(unit, "the trace has no steps");
    return c->overflow ? as_metric_unavailable(unit, "the sum over the steps does not fit in 64 bits")
                       : as_metric_counted(value, unit, "operator definitions");
}

/* work / time; the bounds of the time swap sides. */
static assay_metric rate(const assay_metric *work, const assay_metric *time, const char *unit, const char *formula)
{
    if (!as_metric_has(work))
        return as_metric_unavailable(unit, work->reason);
    if (!time || !as_metric_has(time) || !(time->value > 0))
        return as_metric_unavailable(unit, "there is no median latency");
    bool bounded = time->lo > 0;
    return as_metric_derived(work->value * 1e9 / time->value, bounded ? work->value * 1e9 / time->hi : (double)NAN,
                             bounded ? work->value * 1e9 / time->lo : (double)NAN, time->n, unit, formula);
}

static void run(assay_facts *f, const assay_trace *t)
{
    cost_sum c = {0};
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        if (as_step_is_prologue(s))
            continue; /* set-up: runs once per load, not once per run */
        sum(&c, &c.flops, s->flops);
        sum(&c, &c.special, s->special);
        sum(&c, &c.bytes_read, s->bytes_read);
        sum(&c, &c.bytes_written, s->bytes_written);
        sum(&c, &c.issued_flops, s->issued_flops ? s->issued_flops : s->flops);
        c.has_issued |= s->issued_flops != 0;
    }
    uint64_t both = c.bytes_read;
    sum(&c, &both, c.bytes_written);
    as_fact_group      *g = as_facts_group(f, "cost", "Work of one run");
    assay_metric        flops = counted(&c, t, c.flops, "flop"), bytes = counted(&c, t, both, "byte");
    const assay_metric *median = as_facts_metric(f, "latency.median");
    assay_metric        time = median ? *median : as_metric_unavailable("ns", "not analysed");
    as_facts_add(f, g, "cost.flops", "useful flops", flops);
    as_facts_add(f, g, "cost.special", "special functions", counted(&c, t, c.special, "op"));
    as_facts_add(f, g, "cost.bytes", "compulsory bytes", bytes);
    as_facts_add(f, g, "cost.bytes_read", "of these read", counted(&c, t, c.bytes_read, "byte"));
    as_facts_add(f, g, "cost.bytes_written", "of these written", counted(&c, t, c.bytes_written, "byte"));
    if (c.has_issued)
        as_facts_add(f, g, "cost.issued_flops", "flops issued by the kernels",
                     c.overflow
                         ? counted(&c, t, 0, "flop")
                         : as_metric_counted(c.issued_flops, "flop", "as each kernel states; useful flops where it states none"));
    as_facts_add(f, g, "cost.flop_rate", "useful flops per second", rate(&flops, &time, "flop/s", "cost.flops / latency.median"));
    as_facts_add(f, g, "cost.byte_rate", "compulsory bytes per second",
                 rate(&bytes, &time, "byte/s", "cost.bytes / latency.median"));
    assay_metric intensity = as_metric_unavailable("flop/byte", as_metric_has(&bytes) ? "no bytes move" : bytes.reason);
    if (as_metric_has(&bytes) && bytes.value > 0)
        intensity = as_metric_derived(flops.value / bytes.value, NAN, NAN, 1, "flop/byte", "cost.flops / cost.bytes");
    as_facts_add(f, g, "cost.intensity", "arithmetic intensity", intensity);
}

const as_analysis as_an_cost = {.name = "cost", .order = 20, .run = run};

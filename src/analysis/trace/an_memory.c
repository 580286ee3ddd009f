/* an_memory.c - the memory of a run: planned, observed, by role, and every buffer with its life. */
#include <inttypes.h>

#include "analysis/trace/evidence.h"

static const char *const columns[] = {"name|buffer",   "role|role",        "device|device",  "bytes|bytes",
                                      "offset|offset", "first|first step", "last|last step", NULL};

static assay_metric step_metric(int step)
{
    return step < 0 ? as_metric_unavailable("1", "it belongs to no step") : as_metric_counted((uint64_t)step, "1", "plan");
}

static void buffers_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    as_table *table = t->n_buffers ? as_facts_table(f, g, "buffers", "Buffers of the plan", columns) : NULL;
    for (size_t i = 0; i < t->n_buffers; i++) {
        const as_trace_buffer *b = &t->buffers[i];
        as_cell                cells[] = {
                           {.text = *b->name ? b->name : "-"},
                           {.text = *b->role ? b->role : "-"},
                           {.text = *b->device ? b->device : "-"},
                           {.metric = as_metric_counted(b->bytes, "byte", "plan")},
                           {.metric = as_metric_counted(b->offset, "byte", "plan")},
                           {.metric = step_metric(b->first_step)},
                           {.metric = step_metric(b->last_step)},
        };
        as_facts_row(f, table, cells);
    }
}

/* The plan states its peak to the byte; one that was not kept is a fault of ours, not noise. */
static void peaks_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    uint64_t planned = t->peak_bytes_planned, observed = t->peak_bytes_observed;
    bool     unseen = !observed && planned && !t->complete;
    as_facts_add(f, g, "memory.peak_planned", "planned peak",
                 as_metric_counted(planned, "byte", "plan, before anything is allocated"));
    as_facts_add(f, g, "memory.peak_observed", "observed peak",
                 unseen ? as_metric_unavailable("byte", "the trace is partial: the count comes at its end")
                        : as_metric_counted(observed, "byte", "allocations of the devices"));
    if (unseen)
        return;
    if (planned == observed)
        as_facts_find(f, g, AS_LEVEL_GOOD, "Planned and observed peak are the same to the byte: %" PRIu64 " bytes.", planned);
    else
        as_facts_find(f, g, AS_LEVEL_BAD, "The plan promised a peak of %" PRIu64 " bytes and %" PRIu64 " were observed.", planned,
                      observed);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "memory", "Memory");
    int            rss = as_sensor_find(t, "resident.peak");
    peaks_add(f, g, t);
    as_facts_add(f, g, "memory.params", "parameters", as_metric_counted(t->param_bytes, "byte", "plan"));
    as_facts_add(f, g, "memory.activations", "activations", as_metric_counted(t->activation_bytes, "byte", "plan"));
    as_facts_add(f, g, "memory.scratch", "scratch", as_metric_counted(t->scratch_bytes, "byte", "plan"));
    as_facts_add(f, g, "memory.rss_peak", "peak resident memory of the process",
                 rss >= 0 ? as_sensor_metric(f, t, (size_t)rss)
                          : as_metric_unavailable("byte", "the trace has no sensor for resident memory"));
    as_facts_add(f, g, "memory.steady_allocs", "device allocations in measured runs",
                 as_metric_counted(t->steady_allocs, "1", "devices"));
    buffers_add(f, g, t);
    if (t->steady_allocs)
        as_facts_find(f, g, AS_LEVEL_WARN, "Measured runs made %" PRIu64 " device allocations; a steady run should make none.",
                      t->steady_allocs);
    else
        as_facts_find(f, g, AS_LEVEL_GOOD, "Measured runs allocated nothing on the devices.");
}

const as_analysis as_an_memory = {.name = "memory", .order = 50, .run = run};

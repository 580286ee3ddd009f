/* an_memory.c - the memory of a run: planned, observed, by role, and every buffer with its life. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/text.h"

static const char *const columns[] = {"name|buffer",   "role|role",        "device|device",  "bytes|bytes",
                                      "offset|offset", "first|first step", "last|last step", NULL};

static assay_metric step_metric(int step)
{
    return step < 0 ? as_metric_unavailable("1", "it has no step") : as_metric_counted((uint64_t)step, "1", "plan");
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

/* The plan states its peak to the byte; if a run uses another amount, that is a bug of ours, not noise. */
static void peaks_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    uint64_t planned = t->peak_bytes_planned, observed = t->peak_bytes_observed;
    bool     unseen = !observed && planned && !t->complete;
    as_facts_add(f, g, "memory.peak_planned", "planned peak", as_metric_counted(planned, "byte", "plan, before allocation"));
    as_facts_add(f, g, "memory.peak_observed", "observed peak",
                 unseen ? as_metric_unavailable("byte", "the trace is partial: it ends before the count")
                        : as_metric_counted(observed, "byte", "allocations of the devices"));
    if (unseen)
        return;
    if (planned == observed)
        as_facts_find(f, g, AS_LEVEL_GOOD, "Peak memory is exactly what the plan stated: %" PRIu64 " bytes.", planned);
    else
        as_facts_find(f, g, AS_LEVEL_BAD, "The plan stated a peak of %" PRIu64 " bytes, but %" PRIu64 " were used.", planned,
                      observed);
}

/* The most that each device held, by its events. */
static void live_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    enum { MAX_DEVICES = 16 };
    struct {
        const char *name;
        double      most;
        size_t      n;
    } devices[MAX_DEVICES];
    int    n = 0;
    size_t prefix = strlen(AS_METRIC_LIVE);
    for (size_t i = 0; i < t->n_metrics; i++) {
        const as_trace_metric *m = &t->metrics[i];
        int                    d = 0;
        if (strncmp(m->name, AS_METRIC_LIVE, prefix) || !(m->value >= 0 && m->value < 0x1p63))
            continue;
        while (d < n && strcmp(devices[d].name, m->name + prefix))
            d++;
        if (d == MAX_DEVICES)
            continue;
        if (d == n) {
            devices[n].name = m->name + prefix;
            devices[n].most = 0;
            devices[n++].n = 0;
        }
        devices[d].most = fmax(devices[d].most, m->value);
        devices[d].n++;
    }
    for (int d = 0; d < n; d++)
        as_facts_add(f, g, as_say(f, "memory.live_peak.%s", devices[d].name), as_say(f, "peak on %s", devices[d].name),
                     as_metric_counted((uint64_t)devices[d].most, "byte",
                                       as_say(f, "%zu %s of the device", devices[d].n, devices[d].n == 1 ? "event" : "events")));
}

/* The last value of that name; NaN: the trace has none. */
static double bytes_of(const assay_trace *t, const char *name)
{
    for (size_t i = t->n_metrics; i-- > 0;)
        if (!strcmp(t->metrics[i].name, name) && t->metrics[i].value >= 0 && t->metrics[i].value < 0x1p63)
            return t->metrics[i].value;
    return NAN;
}

static assay_metric bytes_metric(double bytes, const char *source)
{
    return isnan(bytes) ? as_metric_unavailable("byte", "the trace does not say it")
                        : as_metric_counted((uint64_t)bytes, "byte", source);
}

/* Splits the peak of the process: the network, the measuring, the program, and what none of them explains. */
static void parts_add(assay_facts *f, as_fact_group *g, const assay_trace *t, int rss)
{
    double program = bytes_of(t, AS_METRIC_PROGRAM), records = bytes_of(t, AS_METRIC_RECORDS),
           apart = bytes_of(t, AS_METRIC_LIMITS_APART), limits = bytes_of(t, AS_METRIC_LIMITS),
           network = (double)t->peak_bytes_observed, instrument = records;
    char size[4][32];
    if (!isnan(limits) && !isnan(records)) /* their buffers are in the peak, because the peak could not be reset */
        instrument += limits;
    as_facts_add(f, g, "memory.network", "needed by the network",
                 t->peak_bytes_observed ? as_metric_counted(t->peak_bytes_observed, "byte",
                                                            "parameters, activations and scratch, as the devices held them")
                                        : as_metric_counted(t->peak_bytes_planned, "byte", "plan"));
    as_facts_add(f, g, "memory.instrument", "taken by measuring",
                 bytes_metric(instrument,
                              isnan(limits) ? "records and rings" : "records, rings and the buffers that limits were measured in"));
    as_facts_add(f, g, "memory.limits", "buffers that limits were measured in",
                 isnan(apart) && isnan(limits)
                     ? as_metric_unavailable("byte", "no limits were measured in this run")
                     : bytes_metric(isnan(apart) ? limits : apart,
                                    isnan(apart) ? "size of the buffers; they are in the peak of the process"
                                                 : "size of the buffers; freed before the run and not in the peak"));
    as_facts_add(f, g, "memory.program", "the program with the model and its plan",
                 isnan(program)
                     ? bytes_metric(program, "")
                     : as_metric_measured(program, NAN, NAN, 1, "byte", "resident memory before anything was allocated to run it"));
    assay_metric peak = rss >= 0 ? as_sensor_metric(f, t, (size_t)rss)
                                 : as_metric_unavailable("byte", "the trace has no sensor for resident memory");
    as_facts_add(f, g, "memory.rss_peak", "peak resident memory of the process", peak);
    if (peak.kind == ASSAY_UNAVAILABLE || isnan(instrument) || isnan(program))
        return;
    as_facts_add(f, g, "memory.other", "of the peak, none of these",
                 as_metric_derived(peak.value - (network + instrument + program), NAN, NAN, 1, "byte",
                                   "peak - program - network - instrument"));
    as_facts_find(f, g, AS_LEVEL_NOTE, "The process held at most %s: the program and the model %s, the network %s, measuring %s.",
                  as_show(size[0], sizeof size[0], peak.value, "byte"), as_show(size[1], sizeof size[1], program, "byte"),
                  as_show(size[2], sizeof size[2], network, "byte"), as_show(size[3], sizeof size[3], instrument, "byte"));
}

static void run(assay_facts *f, const assay_trace *t)
{
    if (!t->n_steps && !t->n_buffers && t->n_memory_events) /* of a program, which has no plan: its events say all */
        return;
    as_fact_group *g = as_facts_group(f, "memory", "Memory");
    int            rss = as_sensor_find(t, "memory.resident.peak");
    peaks_add(f, g, t);
    as_facts_add(f, g, "memory.params", "parameters", as_metric_counted(t->param_bytes, "byte", "plan"));
    as_facts_add(f, g, "memory.held", "the model's parameters and the peak of a run",
                 as_metric_derived((double)t->param_bytes + (double)t->peak_bytes_planned, NAN, NAN, 1, "byte",
                                   "memory.params + memory.peak_planned"));
    as_facts_add(f, g, "memory.activations", "activations", as_metric_counted(t->activation_bytes, "byte", "plan"));
    as_facts_add(f, g, "memory.scratch", "scratch", as_metric_counted(t->scratch_bytes, "byte", "plan"));
    parts_add(f, g, t, rss);
    as_facts_add(f, g, "memory.steady_allocs", "device allocations in measured runs",
                 as_metric_counted(t->steady_allocs, "1", "devices"));
    live_add(f, g, t);
    buffers_add(f, g, t);
    if (t->steady_allocs)
        as_facts_find(f, g, AS_LEVEL_WARN, "Measured runs made %" PRIu64 " device allocations; they should make none.",
                      t->steady_allocs);
    else
        as_facts_find(f, g, AS_LEVEL_GOOD, "Measured runs allocated no device memory.");
}

const as_analysis as_an_memory = {.name = "memory", .order = 50, .run = run};

/* an_hotspots.c - what takes the time, how much of it is above the limit, and what it is limited by, with the evidence. */
#include <math.h>

#include "analysis/trace/hot.h"

enum { MAX_ROWS = 40 };
#define LEAST_SHARE 0.005

static const char *const columns[] = {"name|what",           "place|where",
                                      "total|total",         "self|self",
                                      "calls|calls",         "average|average",
                                      "share|share",         "memory|memory",
                                      "potential|potential", "score|score",
                                      "category|category",   "evidence|evidence",
                                      "cites|stands on",     NULL};

static void row_add(assay_facts *f, as_table *table, const as_hot *h, as_call_source source)
{
    const char  *from = source == AS_CALLS_SAMPLES ? "weights of the stack samples"
                        : source == AS_CALLS_SPANS ? "spans of the user's own code"
                                                   : "means of the layers over the uninterrupted runs";
    bool         has = as_metric_has(&h->potential);
    assay_metric average = h->count && source == AS_CALLS_SPANS
                               ? as_metric_derived(h->total_ns / (double)h->count, NAN, NAN, h->count, "ns", "total / calls")
                           : source == AS_CALLS_LAYERS
                               ? as_metric_derived(h->total_ns, NAN, NAN, h->count, "ns", "mean over the calls that were recorded")
                               : as_metric_unavailable("ns", "samples of stacks do not count calls");
    as_cell      cells[] = {
             {.text = h->name},
             {.text = *h->place ? h->place : "-"},
             {.metric = as_metric_measured(h->total_ns, NAN, NAN, h->count, "ns", from)},
             {.metric = as_metric_measured(h->self_ns, NAN, NAN, h->count, "ns", from)},
             {.metric = source == AS_CALLS_SAMPLES ? as_metric_unavailable("1", "samples of stacks do not count calls")
                                                   : as_metric_counted(h->count, "1", "calls that were recorded")},
             {.metric = average},
             {.metric = as_metric_derived(h->share, NAN, NAN, h->count, "ratio", "self time / whole time")},
             {.metric = h->memory},
             {.metric = h->potential},
             {.metric = has ? as_metric_derived(100 * h->potential.value, NAN, NAN, h->count, "1", "100 x potential")
                            : as_metric_unavailable("1", h->potential.reason)},
             {.text = as_hot_text(h->kind)},
             {.text = h->evidence && *h->evidence ? h->evidence : "-"},
             {.text = *h->cites ? h->cites : "-"},
    };
    as_facts_row(f, table, cells);
}

/* Of too few uninterrupted runs nothing is named: the neighbour may be the hotspot. */
static const char *disturbed(assay_facts *f, as_call_source source)
{
    const assay_metric *clean = as_facts_metric(f, "layers.undisturbed_runs");
    if (source != AS_CALLS_LAYERS || !clean || !as_metric_has(clean) || clean->value >= AS_CLEAN_ENOUGH)
        return NULL;
    return as_say(f, "%.0f uninterrupted runs were recorded, and %d are needed", clean->value, AS_CLEAN_ENOUGH);
}

static void source_add(assay_facts *f, const assay_trace *t, const as_call_tree *tree)
{
    static const char *const labels[] = {"Functions by their own time", "Spans by their own time", "Layers by their time"};
    const char              *why = tree->unknown ? NULL : disturbed(f, tree->source);
    if (tree->unknown)
        return;
    as_fact_group *g = as_facts_group(f, "hotspots", "Hotspots");
    if (why) {
        as_facts_find(f, g, AS_LEVEL_NOTE, "No layer is called a hotspot: %s.", why);
        return;
    }
    as_hots   h = as_hots_read(f, t, tree);
    as_table *table = h.n ? as_facts_table(f, g, as_call_source_text(tree->source), labels[tree->source], columns) : NULL;
    double    rest = 0;
    size_t    n_rest = 0;
    for (size_t i = 0; i < h.n; i++)
        if (i < MAX_ROWS && h.all[i].share >= LEAST_SHARE)
            row_add(f, table, &h.all[i], tree->source);
        else
            n_rest++, rest += h.all[i].share;
    if (n_rest)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      n_rest == 1 ? "%zu other takes %.2g %% of the time." : "%zu others take %.2g %% of the time together.",
                      n_rest, 100 * rest);
    if (h.uncertain)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Some limits behind the potentials were measured on a busy machine and may be too low.");
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_call_tree samples = as_call_tree_of_samples(&f->arena, t), spans = as_call_tree_of_spans(&f->arena, t);
    source_add(f, t, &samples);
    source_add(f, t, &spans);
    if (t->n_arms > 1)
        return;
    as_call_tree layers = as_call_tree_of_layers(&f->arena, t, f);
    source_add(f, t, &layers);
}

const as_analysis as_an_hotspots = {
    .name = "hotspots", .order = 72, .of = 1u << AS_OF_NETWORK | 1u << AS_OF_SESSION | 1u << AS_OF_PROGRAM, .run = run};

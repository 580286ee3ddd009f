/* an_calls.c - the tree of calls: of stack samples, of the user's spans, and of the layers of a run. */
#include <math.h>

#include "analysis/trace/calltree.h"
#include "analysis/trace/evidence.h"

enum { MAX_ROWS = 240, MAX_EDGES = 40, MAX_FUNCTIONS = 8 };
#define LEAST_SHARE 0.001 /* of the whole; what takes less is summed up */

static const char *const columns[] = {"depth|depth", "name|call",   "place|where", "total|total",
                                      "self|self",   "share|share", "count|calls", NULL};
static const char *const sampled_columns[] = {"depth|depth", "name|call",     "place|where",         "total|total", "self|self",
                                              "share|share", "count|samples", "waiting|off the CPU", NULL};
static const char *const edge_columns[] = {"function|function", "side|side",   "other|calls or is called by",
                                           "total|time",        "count|count", NULL};

/* --- One row per node that matters, the rest of each parent in one ----------------------------------------------------- */

static uint64_t least_shown(assay_facts *f, const as_call_tree *tree)
{
    uint64_t least = (uint64_t)((double)tree->whole * LEAST_SHARE);
    for (;;) {
        size_t n = 0;
        for (size_t i = 0; i < tree->n_nodes; i++)
            n += tree->nodes[i].total > least;
        if (n <= MAX_ROWS || least > tree->whole)
            return least;
        least = least ? 2 * least : 1;
    }
    (void)f;
}

static assay_metric time_of(assay_facts *f, const as_call_tree *tree, uint64_t units, uint64_t n)
{
    static const char *const sources[] = {"weights of the stack samples", "spans of the user's own code", "means of the layers"};
    double                   ns = as_call_ns(tree, units);
    (void)f;
    return tree->source == AS_CALLS_LAYERS ? as_metric_derived(ns, NAN, NAN, n, "ns", sources[tree->source])
                                           : as_metric_measured(ns, NAN, NAN, n, "ns", sources[tree->source]);
}

static void row_add(assay_facts *f, as_table *table, const as_call_tree *tree, int depth, const char *name, const char *place,
                    uint64_t total, uint64_t self, uint64_t waiting, uint64_t count)
{
    as_cell cells[] = {
        {.metric = as_metric_counted((uint64_t)depth, "1", "the tree")},
        {.text = name},
        {.text = *place ? place : "-"},
        {.metric = time_of(f, tree, total, count)},
        {.metric = time_of(f, tree, self, count)},
        {.metric = as_metric_derived(as_call_share(tree, total), NAN, NAN, count, "ratio", "total / the whole")},
        {.metric = as_metric_counted(count, "1", tree->source == AS_CALLS_SAMPLES ? "samples" : "calls that were recorded")},
        {.metric = time_of(f, tree, waiting, count)}, /* of samples alone: the last column of theirs */
    };
    as_facts_row(f, table, cells);
}

/* The children of a node that are too small to be shown stand behind the others, in one row. */
static void rest_add(assay_facts *f, as_table *table, const as_call_tree *tree, int parent, uint64_t least)
{
    uint64_t total = 0, waiting = 0, count = 0;
    size_t   n = 0;
    for (int c = tree->nodes[parent].first_child; c >= 0; c = tree->nodes[c].next)
        if (tree->nodes[c].total <= least)
            n++, total += tree->nodes[c].total, waiting += tree->nodes[c].waiting, count += tree->nodes[c].count;
    if (n)
        row_add(f, table, tree, tree->nodes[parent].depth + 1, as_say(f, "(%zu more)", n), "", total, total, waiting, count);
}

static void tree_add(assay_facts *f, as_fact_group *g, const as_call_tree *tree, const char *label)
{
    as_table *table = as_facts_table(f, g, as_call_source_text(tree->source), label,
                                     tree->source == AS_CALLS_SAMPLES ? sampled_columns : columns);
    uint64_t  least = least_shown(f, tree);
    for (int at = 0; at >= 0 && f->status == ASSAY_OK;) {
        const as_call_node     *n = &tree->nodes[at];
        const as_call_function *fn = &tree->functions[n->function];
        bool                    shown = n->total > least || at == 0;
        if (shown)
            row_add(f, table, tree, n->depth, fn->name, fn->place, n->total, n->self, n->waiting, n->count);
        if (shown && n->first_child >= 0 && tree->nodes[n->first_child].total > least) {
            at = n->first_child;
            continue;
        }
        if (shown)
            rest_add(f, table, tree, at, least);
        while (at >= 0 && (tree->nodes[at].next < 0 || tree->nodes[tree->nodes[at].next].total <= least)) {
            at = tree->nodes[at].parent;
            if (at >= 0)
                rest_add(f, table, tree, at, least);
        }
        at = at >= 0 ? tree->nodes[at].next : -1;
    }
}

/* --- Callers and callees of what takes the most time -------------------------------------------------------------------- */

static void edges_add(assay_facts *f, as_table *table, const as_call_tree *tree, int function, bool callers)
{
    size_t              n;
    const as_call_edge *edges =
        callers ? as_call_callers(&f->arena, tree, function, &n) : as_call_callees(&f->arena, tree, function, &n);
    for (size_t i = 0; edges && i < n && i < 5; i++)
        as_facts_row(f, table,
                     (as_cell[]){{.text = tree->functions[function].name},
                                 {.text = callers ? "called by" : "calls"},
                                 {.text = tree->functions[edges[i].function].name},
                                 {.metric = time_of(f, tree, edges[i].total, edges[i].count)},
                                 {.metric = as_metric_counted(edges[i].count, "1", "the tree")}});
}

static void relations_add(assay_facts *f, as_fact_group *g, const as_call_tree *tree)
{
    bool *done = AS_TAKE(&f->arena, bool, tree->n_functions);
    if (!done)
        return;
    as_table *table = as_facts_table(f, g, as_say(f, "%s.relations", as_call_source_text(tree->source)),
                                     "Callers and callees of what takes the most time", edge_columns);
    for (int k = 0; k < MAX_FUNCTIONS && table->n_rows < MAX_EDGES; k++) {
        int best = -1;
        for (size_t i = 0; i < tree->n_functions; i++)
            if (!done[i] && tree->functions[i].is_code && (best < 0 || tree->functions[i].self > tree->functions[best].self))
                best = (int)i;
        if (best < 0)
            return;
        done[best] = true;
        edges_add(f, table, tree, best, true);
        edges_add(f, table, tree, best, false);
    }
}

/* --- All -------------------------------------------------------------------------------------------------------------------- */

static void facts_add(assay_facts *f, as_fact_group *g, const as_call_tree *tree)
{
    const char *source = as_call_source_text(tree->source);
    uint64_t    sum = 0;
    for (size_t i = 0; i < tree->n_nodes; i++)
        sum += tree->nodes[i].self;
    as_facts_add(f, g, as_say(f, "calls.%s.whole", source), "whole time of the tree",
                 time_of(f, tree, tree->whole, tree->nodes[0].count));
    as_facts_add(f, g, as_say(f, "calls.%s.self_sum", source), "sum of all self times",
                 time_of(f, tree, sum, tree->nodes[0].count));
    as_facts_add(f, g, as_say(f, "calls.%s.nodes", source), "nodes of the tree", as_metric_counted(tree->n_nodes, "1", "the tree"));
    if (tree->source == AS_CALLS_SAMPLES)
        as_facts_add(f, g, "calls.samples.waiting", "of the whole, off the CPU",
                     time_of(f, tree, tree->waiting, tree->nodes[0].count));
    if (tree->n_crossing)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%llu spans ended after the span that they began in; each is cut off there.",
                      (unsigned long long)tree->n_crossing);
    if (tree->n_left_out)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%llu records contradict themselves and were left out.",
                      (unsigned long long)tree->n_left_out);
}

static void source_add(assay_facts *f, const assay_trace *t, const as_call_tree *tree)
{
    static const char *const labels[] = {"Call tree, by stack samples", "Call tree, by spans of the program",
                                         "Run, by module and layer"};
    if (tree->unknown)
        return;
    as_fact_group *g = as_facts_group(f, "calls", "Call tree");
    facts_add(f, g, tree);
    tree_add(f, g, tree, labels[tree->source]);
    if (tree->source != AS_CALLS_LAYERS)
        relations_add(f, g, tree);
    if (tree->source == AS_CALLS_SPANS && t->user_spans_left)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%llu spans were not kept, because there were too many; the tree is of the others.",
                      (unsigned long long)t->user_spans_left);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_call_tree samples = as_call_tree_of_samples(&f->arena, t), spans = as_call_tree_of_spans(&f->arena, t);
    source_add(f, t, &samples);
    source_add(f, t, &spans);
    if (t->n_arms > 1)
        return; /* of a comparison, the layers of each candidate stand in tables of their own */
    as_call_tree layers = as_call_tree_of_layers(&f->arena, t, f);
    source_add(f, t, &layers);
}

const as_analysis as_an_calls = {
    .name = "calls", .order = 33, .of = 1u << AS_OF_NETWORK | 1u << AS_OF_SESSION | 1u << AS_OF_PROGRAM, .run = run};

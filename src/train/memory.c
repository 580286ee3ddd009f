/* memory.c - what the memory of a training step is for, to the byte. */
#include <stdlib.h>
#include <string.h>

#include "train/train.h"

const char *as_train_kind_text(as_train_kind kind)
{
    static const char *const texts[AS_N_KINDS] = {
        [AS_KIND_WEIGHTS] = "weights", [AS_KIND_STATES] = "optimiser state", [AS_KIND_STATISTICS] = "statistics",
        [AS_KIND_DATA] = "data",       [AS_KIND_GRADIENTS] = "gradients",    [AS_KIND_ACTIVATIONS] = "activations",
        [AS_KIND_PACKED] = "packed",   [AS_KIND_SCRATCH] = "scratch",        [AS_KIND_GAPS] = "gaps"};
    return texts[kind];
}

static as_train_kind variable_kind(const as_train_graph *graph, const char *name)
{
    for (int i = 0; i < graph->n_variables; i++)
        if (!strcmp(graph->variables[i].name, name))
            return i == 0                        ? AS_KIND_WEIGHTS
                   : i >= graph->first_kept      ? AS_KIND_STATISTICS
                   : !strcmp(name, AS_TRAIN_SUM) ? AS_KIND_GRADIENTS
                                                 : AS_KIND_STATES;
    return AS_KIND_STATES;
}

/* A new value of a variable that waits for the end of the step to be copied belongs to the variable. */
static as_train_kind result_kind(const as_train_graph *graph, const assay_plan *plan, const as_buffer *b)
{
    int producer = b->value < 0 ? -1 : plan->graph.values[b->value].producer;
    for (int i = 0; i < graph->n_variables && b->role == AS_BUF_OUTPUT; i++)
        if (graph->variables[i].becomes && !strcmp(graph->variables[i].becomes, b->name))
            return variable_kind(graph, graph->variables[i].name);
    if (producer >= 0 && (!strcmp(plan->graph.nodes[producer].ctx.op->name, "assay.Join") ||
                          !strcmp(plan->graph.nodes[producer].ctx.op->name, "assay.Accumulate")))
        return AS_KIND_GRADIENTS;
    return AS_KIND_ACTIVATIONS;
}

static as_train_kind kind_of(const as_train_graph *graph, const assay_plan *plan, const as_buffer *b)
{
    switch (b->role) {
    case AS_BUF_VARIABLE: return variable_kind(graph, b->name);
    case AS_BUF_INPUT: return AS_KIND_DATA;
    case AS_BUF_PARAM:
    case AS_BUF_CONSTANT: return AS_KIND_WEIGHTS; /* a device's copy of what does not learn */
    case AS_BUF_PACKED: return AS_KIND_PACKED;
    case AS_BUF_SCRATCH: return AS_KIND_SCRATCH;
    case AS_BUF_OUTPUT:
    case AS_BUF_ACTIVATION: break;
    }
    return result_kind(graph, plan, b);
}

/* Where a buffer of some kind begins or ends in its device's memory. */
typedef struct edge {
    uint64_t at;
    int      kind, change;
} edge;

static int by_place(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void device_count(const assay_plan *plan, int device, edge *edges, int n, as_train_memory *out)
{
    uint64_t at = 0, end = plan->device_bytes[device];
    int      alive[AS_N_KINDS] = {0};
    qsort(edges, (size_t)n, sizeof *edges, by_place);
    for (int i = 0; i <= n && at < end; i++) {
        uint64_t next = i < n && edges[i].at < end ? edges[i].at : end;
        int      kind = 0;
        while (kind < AS_KIND_GAPS && !alive[kind])
            kind++;
        if (next > at)
            out->held[kind] += next - at;
        at = next > at ? next : at;
        if (i < n)
            alive[edges[i].kind] += edges[i].change;
    }
}

assay_status as_train_memory_count(assay_env *env, const as_train_graph *graph, const assay_plan *plan, as_train_memory *out)
{
    edge *edges = calloc((size_t)plan->n_buffers * 2 + 1, sizeof *edges);
    if (!edges)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory to count %d buffers", plan->n_buffers);
    *out = (as_train_memory){.total = assay_plan_peak_bytes(plan)};
    for (int d = 0; d < plan->n_devices; d++) {
        int n = 0;
        for (int i = 0; i < plan->n_buffers; i++) {
            const as_buffer *b = &plan->buffers[i];
            if (b->device != d || b->alias_of >= 0)
                continue;
            if (b->outside) {
                out->frozen += b->bytes;
                continue;
            }
            as_train_kind kind = kind_of(graph, plan, b);
            out->apart[kind] += b->bytes;
            if (!b->bytes)
                continue;
            edges[n++] = (edge){b->offset, (int)kind, 1};
            edges[n++] = (edge){b->offset + b->bytes, (int)kind, -1};
        }
        device_count(plan, d, edges, n, out);
    }
    free(edges);
    return ASSAY_OK;
}

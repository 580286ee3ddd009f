/* tx_callgrind.c - callgrind's format: self cost of each function, inclusive cost of each call; for kcachegrind and callgrind_annotate. */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

static const char *const events[AS_N_SCENE_VALUES] = {"ns", "flops", "bytes", "alloc", "inuse", "peak"};

typedef struct edge {
    uint32_t from, to; /* names */
    uint64_t calls, total[AS_N_SCENE_VALUES];
} edge;

static int by_names(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->to != y->to ? (x->to < y->to ? -1 : 1) : 0;
}

static void add(uint64_t *to, const uint64_t *from)
{
    for (int k = 0; k < AS_N_SCENE_VALUES; k++)
        to[k] += from[k];
}

/* With the children: parents come before them.  A node that was only seen above others was called at least once. */
static size_t edges_make(const as_scene *v, edge *edges)
{
    size_t n = 0, n_merged = 0;
    for (size_t i = 0; i < v->n_nodes; i++) {
        edges[i] = (edge){.to = v->nodes[i].name, .calls = v->nodes[i].calls ? v->nodes[i].calls : 1};
        edges[i].from = v->nodes[i].parent == UINT32_MAX ? UINT32_MAX : v->nodes[v->nodes[i].parent].name;
        add(edges[i].total, v->nodes[i].self);
    }
    for (size_t i = v->n_nodes; i-- > 0;)
        if (v->nodes[i].parent != UINT32_MAX)
            add(edges[v->nodes[i].parent].total, edges[i].total);
    for (size_t i = 0; i < v->n_nodes; i++)
        if (edges[i].from != UINT32_MAX)
            edges[n++] = edges[i];
    if (n)
        qsort(edges, n, sizeof *edges, by_names);
    for (size_t i = 0; i < n; i++) {
        if (!n_merged || by_names(&edges[n_merged - 1], &edges[i])) {
            edges[n_merged++] = edges[i];
            continue;
        }
        edges[n_merged - 1].calls += edges[i].calls;
        add(edges[n_merged - 1].total, edges[i].total);
    }
    return n_merged;
}

static void costs_write(FILE *file, int line, const uint64_t *costs, int n)
{
    fprintf(file, "%d", line);
    for (int k = 0; k < n; k++)
        fprintf(file, " %llu", (unsigned long long)costs[k]);
    fputc('\n', file);
}

/* Numbers stand for names, so that no name can be taken for one: "(3) conv1", and later "(3)". */
static void name_write(FILE *file, const char *key, const as_scene *v, uint32_t name, bool *known)
{
    fprintf(file, "%s=(%u)", key, name + 1);
    if (!known[name])
        fprintf(file, " %s", v->names[name].name);
    known[name] = true;
    fputc('\n', file);
}

/* Every function stands in a file, known or not; each has its own number. */
static void file_write(FILE *file, const char *key, const as_scene *v, uint32_t name)
{
    fprintf(file, "%s=%s\n", key, *v->names[name].file && v->names[name].file[0] != '(' ? v->names[name].file : "???");
}

static void functions_write(FILE *file, const as_scene *v, const edge *edges, size_t n_edges, const uint64_t *self, bool *known,
                            int n_values)
{
    size_t e = 0;
    for (uint32_t i = 0; i < v->n_names; i++) {
        uint64_t any = 0;
        for (int k = 0; k < n_values; k++)
            any |= self[(size_t)i * AS_N_SCENE_VALUES + (size_t)k];
        if (!any && (e == n_edges || edges[e].from != i))
            continue;
        fputc('\n', file);
        file_write(file, "fl", v, i);
        name_write(file, "fn", v, i, known);
        costs_write(file, v->names[i].line, &self[(size_t)i * AS_N_SCENE_VALUES], n_values);
        for (; e < n_edges && edges[e].from == i; e++) {
            file_write(file, "cfi", v, edges[e].to);
            name_write(file, "cfn", v, edges[e].to, known);
            fprintf(file, "calls=%llu %d\n", (unsigned long long)edges[e].calls, v->names[edges[e].to].line);
            costs_write(file, v->names[i].line, edges[e].total, n_values);
        }
    }
}

static assay_status save(assay_env *env, as_scene *v, FILE *file)
{
    int       n_values = v->has_memory ? AS_N_SCENE_VALUES : AS_SCENE_ALLOC;
    edge     *edges = malloc((v->n_nodes + 1) * sizeof *edges);
    uint64_t *self = calloc((v->n_names + 1) * AS_N_SCENE_VALUES, sizeof *self), sum[AS_N_SCENE_VALUES] = {0};
    bool     *known = calloc(v->n_names + 1, sizeof *known), ok = edges && self && known;
    if (ok) {
        size_t n_edges = edges_make(v, edges);
        for (size_t i = 0; i < v->n_nodes; i++) {
            add(&self[(size_t)v->nodes[i].name * AS_N_SCENE_VALUES], v->nodes[i].self);
            add(sum, v->nodes[i].self);
        }
        fprintf(file, "# callgrind format\nversion: 1\ncreator: assay " ASSAY_VERSION "\ncmd: %s\npositions: line\nevents:",
                v->processes[0].name);
        for (int k = 0; k < n_values; k++)
            fprintf(file, " %s", events[k]);
        fprintf(file, "\nsummary:");
        for (int k = 0; k < n_values; k++)
            fprintf(file, " %llu", (unsigned long long)sum[k]);
        fputc('\n', file);
        functions_write(file, v, edges, n_edges, self, known, n_values);
    }
    free(edges);
    free(self);
    free(known);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "callgrind: not enough memory for %zu stacks", v->n_nodes);
}

const as_trace_export as_tx_callgrind = {.key = "callgrind", .what = "callgrind profile", .scope = AS_SCOPE_SUMS, .write = save};

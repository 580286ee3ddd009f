/* recompute.c - which parts of the forward pass to compute again, and the graph that does it.
 *
 * A plan is a list of cuts in the forward pass.  For a chain, the bytes at the peak are about those that cross the cuts plus those of the
 * largest segment.  So for every bound of the largest segment, dynamic programming finds the cuts that keep the fewest bytes; of all bounds
 * and of sqrt(n) even segments, the one with the least peak wins.  The peak is not the formula's: the order of all nodes with those that are
 * computed again is laid out, and the values alive at each are added up. */
#include "train/recompute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/rewrite.h"

enum { MAX_CUTS = 512, N_BOUNDS = 32 };

typedef struct planner {
    const assay_model *model;
    const as_graph    *graph;
    as_arena          *arena;
    int                n_forward; /* nodes before the backward pass */
    bool              *given;     /* per value */
    int               *root;      /* per value: whose memory it is a view of */
    uint64_t          *bytes;     /* per value; 0 for views, weights and inputs */
    int               *producer;  /* per value: node, -1 */
    bool              *stays;     /* per value: kept whatever the cuts: an output, or read by the update */
    int               *places;    /* possible cuts: a cut at p is before node p */
    uint64_t          *crossing;  /* per place */
    uint64_t          *before;    /* per place: bytes of results before it that the backward pass reads */
    int                n_places;
    /* Of one layout. */
    int           *segment; /* per node of the forward pass */
    int           *copy;    /* per value: the event in which it was made again, -1 */
    int           *order;   /* nodes; n_nodes + node: again */
    int           *last, *born;
    unsigned char *pending;
    int            n_order;
} planner;

static bool is_forward(const planner *p, int node)
{
    return node < p->n_forward && p->model->nodes[node].place.pass != AS_PASS_UPDATE;
}

static bool reads_copies(const planner *p, int node)
{
    return node >= p->n_forward && p->model->nodes[node].place.pass != AS_PASS_UPDATE;
}

/* --- Values ---------------------------------------------------------------------------------------------- */

static bool is_view(const as_node *n) { return n->op->view_only && n->n_out == 1 && n->in[0] >= 0; }

/* Gradients are written into the flat block: its bytes are there from the first of them on. */
static void join_read(planner *p, const as_node *join)
{
    for (int k = 0; k < join->n_in; k++) {
        int from = p->root[join->in[k]];
        if (p->producer[from] < p->n_forward || p->given[from] || p->stays[from])
            continue;
        for (int v = 0; v < p->model->n_values; v++)
            if (p->root[v] == from) {
                p->root[v] = join->out[0];
                p->bytes[v] = 0;
            }
    }
}

static void values_read(planner *p)
{
    const assay_model *m = p->model;
    for (int i = 0; i < m->n_values; i++) {
        const as_tensor_info *info = &p->graph->values[i].info;
        p->root[i] = i;
        p->producer[i] = -1;
        p->bytes[i] = m->values[i].role == AS_ROLE_COMPUTED && !p->given[i]
                          ? (uint64_t)as_shape_count(&info->shape) * as_dtype_bytes(info->dtype)
                          : 0;
    }
    for (int i = 0; i < m->n_nodes; i++) {
        const as_node *n = &m->nodes[i];
        for (int k = 0; k < n->n_out; k++)
            p->producer[n->out[k]] = i;
        if (is_view(n)) {
            p->root[n->out[0]] = p->root[n->in[0]];
            p->bytes[n->out[0]] = 0;
        }
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0 && n->place.pass == AS_PASS_UPDATE)
                p->stays[n->in[k]] = true;
    }
    for (int i = 0; i < m->n_outputs; i++)
        p->stays[m->outputs[i]] = true;
    for (int i = p->n_forward; i < m->n_nodes; i++)
        if (!strcmp(m->nodes[i].op->name, "assay.Join"))
            join_read(p, &m->nodes[i]);
}

/* The last node of the forward pass that reads the value, or a view of it. */
static void readers_find(const planner *p, int *last, bool *back)
{
    const assay_model *m = p->model;
    for (int i = 0; i < m->n_values; i++)
        last[i] = -1;
    for (int i = 0; i < m->n_nodes; i++)
        for (int k = 0; k < m->nodes[i].n_in; k++) {
            int v = m->nodes[i].in[k];
            if (v < 0)
                continue;
            if (is_forward(p, i))
                last[p->root[v]] = last[v] = i;
            else if (reads_copies(p, i))
                back[p->root[v]] = true;
        }
}

static int by_bytes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static assay_status no_memory(assay_env *env)
{
    return as_fail(env, ASSAY_NO_MEMORY, "training: not enough memory to plan what is computed again");
}

/* The possible cuts: of a long pass only those that the fewest bytes cross. */
static assay_status places_find(assay_env *env, planner *p)
{
    const assay_model *m = p->model;
    int                n = p->n_forward;
    int               *last = AS_TAKE(p->arena, int, m->n_values + 1);
    bool              *back = AS_TAKE(p->arena, bool, m->n_values + 1);
    int64_t           *change = AS_TAKE(p->arena, int64_t, n + 2);
    uint64_t          *crossing = AS_TAKE(p->arena, uint64_t, n + 1), *sorted = AS_TAKE(p->arena, uint64_t, n + 1),
             *before = AS_TAKE(p->arena, uint64_t, n + 2);
    p->places = AS_TAKE(p->arena, int, n + 1);
    p->crossing = AS_TAKE(p->arena, uint64_t, n + 1);
    p->before = AS_TAKE(p->arena, uint64_t, n + 2);
    if (!last || !back || !change || !crossing || !sorted || !before || !p->places || !p->crossing || !p->before)
        return no_memory(env);
    readers_find(p, last, back);
    for (int v = 0; v < m->n_values; v++) {
        int from = p->producer[v];
        if (from < 0 || from >= n || !p->bytes[v])
            continue;
        if (last[v] > from) { /* crosses the cuts before from + 1 ... last */
            change[from + 1] += (int64_t)p->bytes[v];
            change[last[v] + 1] -= (int64_t)p->bytes[v];
        }
        if (back[v])
            before[from + 1] += p->bytes[v];
    }
    int64_t live = 0;
    for (int i = 1; i < n; i++) {
        live += change[i];
        crossing[i] = sorted[i - 1] = (uint64_t)live;
    }
    for (int i = 1; i <= n; i++)
        before[i] += before[i - 1];
    if (n < 2)
        return ASSAY_OK;
    qsort(sorted, (size_t)(n - 1), sizeof *sorted, by_bytes);
    uint64_t most = sorted[n - 1 > MAX_CUTS ? MAX_CUTS - 1 : n - 2];
    for (int i = 1; i < n && p->n_places < MAX_CUTS; i++)
        if (crossing[i] <= most && before[i] > 0 && before[i] < before[n]) {
            p->places[p->n_places] = i;
            p->before[p->n_places] = before[i];
            p->crossing[p->n_places++] = crossing[i];
        }
    p->before[p->n_places] = before[n];
    return ASSAY_OK;
}

/* --- Laying out the nodes of a plan ---------------------------------------------------------------------- */

static void segments_mark(planner *p, const int *cuts, int n_cuts)
{
    for (int i = 0, s = 0; i < p->n_forward; i++) {
        while (s < n_cuts && cuts[s] <= i)
            s++;
        p->segment[i] = s;
    }
}

/* Whether a value of the forward pass is there when the backward pass wants it. */
static bool *kept_find(planner *p, int n_cuts, bool *kept)
{
    const assay_model *m = p->model;
    for (int v = 0; v < m->n_values; v++) {
        int from = p->producer[v];
        kept[v] = from < 0 || p->given[v] || !is_forward(p, from) || p->segment[from] == n_cuts || p->stays[v];
    }
    for (int i = 0; i < p->n_forward; i++)
        for (int k = 0; k < m->nodes[i].n_in && is_forward(p, i); k++) {
            int v = m->nodes[i].in[k];
            if (v >= 0 && p->producer[v] >= 0 && is_forward(p, p->producer[v]) && p->segment[p->producer[v]] != p->segment[i])
                kept[v] = kept[p->root[v]] = true;
        }
    /* A view of what is kept costs nothing. */
    for (int v = 0; v < m->n_values; v++)
        kept[v] |= p->root[v] != v && kept[p->root[v]];
    return kept;
}

/* Puts the node and before it those that it needs into the order, once; without recursion, because a network can be deep. */
static void again(planner *p, const bool *kept, int node, int *stack)
{
    int n = 0;
    stack[n++] = node;
    while (n) {
        int            at = stack[n - 1];
        const as_node *a = &p->model->nodes[at];
        int            waits = 0;
        if (p->copy[a->out[0]] >= 0) {
            n--;
            continue;
        }
        for (int k = 0; k < a->n_in; k++)
            if (a->in[k] >= 0 && !kept[a->in[k]] && p->copy[a->in[k]] < 0) {
                int from = p->producer[a->in[k]];
                if (p->pending[from] != 1) {
                    p->pending[from] = 1;
                    stack[n++] = from;
                    waits++;
                }
            }
        if (waits)
            continue;
        for (int k = 0; k < a->n_out; k++)
            p->copy[a->out[k]] = p->n_order;
        p->order[p->n_order++] = p->model->n_nodes + at;
        p->pending[at] = 0;
        n--;
    }
}

static void lay_out(planner *p, const int *cuts, int n_cuts, bool *kept, int *stack)
{
    const assay_model *m = p->model;
    segments_mark(p, cuts, n_cuts);
    kept_find(p, n_cuts, kept);
    p->n_order = 0;
    for (int v = 0; v < m->n_values; v++)
        p->copy[v] = -1;
    memset(p->pending, 0, (size_t)m->n_nodes);
    for (int i = 0; i < m->n_nodes; i++) {
        for (int k = 0; k < m->nodes[i].n_in && reads_copies(p, i); k++) {
            int v = m->nodes[i].in[k];
            if (v >= 0 && !kept[v] && p->copy[v] < 0)
                again(p, kept, p->producer[v], stack);
        }
        p->order[p->n_order++] = i;
    }
}

/* The value or copy that an event reads: copies are numbered after the values. */
static int operand(const planner *p, int event, int v)
{
    int  n_nodes = p->model->n_nodes;
    bool is_copy = p->order[event] >= n_nodes || reads_copies(p, p->order[event]);
    return is_copy && p->copy[v] >= 0 && p->copy[v] < event ? v + p->model->n_values : v;
}

/* Bytes alive at the fullest event, and what the plan costs. */
static as_recompute judge(planner *p, int n_cuts)
{
    const assay_model *m = p->model;
    as_recompute       r = {.n_segments = n_cuts + 1};
    int                n = m->n_values;
    for (int v = 0; v < 2 * n; v++)
        p->born[v] = p->last[v] = -1;
    for (int e = 0; e < p->n_order; e++) {
        bool           is_copy = p->order[e] >= m->n_nodes;
        int            at = is_copy ? p->order[e] - m->n_nodes : p->order[e];
        const as_node *a = &m->nodes[at];
        for (int k = 0; k < a->n_in; k++)
            if (a->in[k] >= 0) {
                int v = operand(p, e, a->in[k]), root = p->root[a->in[k]] + (v >= n ? n : 0);
                if (v >= n && p->born[root] < 0)
                    root -= n; /* a view made again of what was kept */
                p->last[root] = e;
            }
        for (int k = 0; k < a->n_out; k++) {
            int root = p->root[a->out[k]] + (is_copy ? n : 0);
            if (p->root[a->out[k]] != a->out[k] && is_view(a))
                continue;
            p->born[root] = p->born[root] < 0 ? e : p->born[root];
            p->last[root] = e;
        }
        if (is_copy) {
            r.n_nodes++;
            r.flops += p->graph->nodes[at].ctx.op->cost(&p->graph->nodes[at].ctx).flops;
        }
    }
    for (int i = 0; i < m->n_outputs; i++)
        if (p->born[p->root[m->outputs[i]]] >= 0)
            p->last[p->root[m->outputs[i]]] = p->n_order - 1;
    int64_t *change = (int64_t *)calloc((size_t)p->n_order + 1, sizeof *change);
    for (int v = 0; v < 2 * n && change; v++)
        if (p->born[v] >= 0 && p->bytes[v % n]) {
            change[p->born[v]] += (int64_t)p->bytes[v % n];
            change[p->last[v] + 1] -= (int64_t)p->bytes[v % n];
            bool of_forward = v < n && is_forward(p, p->producer[v]);
            r.kept_bytes += of_forward && p->last[v] > p->born[v] && p->order[p->last[v]] >= p->n_forward ? p->bytes[v] : 0;
        }
    int64_t live = 0;
    for (int e = 0; e < p->n_order && change; e++) {
        live += change[e];
        r.live_bytes = live > (int64_t)r.live_bytes ? (uint64_t)live : r.live_bytes;
    }
    r.n_nodes = change ? r.n_nodes : -1;
    free(change);
    return r;
}

/* --- Choosing the cuts ------------------------------------------------------------------------------------- */

typedef struct chooser {
    planner     *p;
    int          wanted; /* segments, -1: any number */
    double      *cost;   /* per number of cuts and place */
    int         *from;
    int         *cuts, *best_cuts, *stack;
    bool        *kept;
    int          n_best;
    as_recompute best;
} chooser;

static void consider(chooser *c, const int *cuts, int n)
{
    lay_out(c->p, cuts, n, c->kept, c->stack);
    as_recompute r = judge(c->p, n);
    if (r.n_nodes < 0)
        return;
    bool better =
        c->n_best < 0 || r.live_bytes < c->best.live_bytes || (r.live_bytes == c->best.live_bytes && r.flops < c->best.flops);
    if (!better)
        return;
    c->best = r;
    c->n_best = n;
    memcpy(c->best_cuts, cuts, (size_t)n * sizeof *cuts);
}

/* The cuts that keep the fewest bytes when no segment holds more than `bound`; n_exact: so many cuts, 0: any number. */
static void bounded(chooser *c, double bound, int n_exact)
{
    const planner *p = c->p;
    int            n = p->n_places + 1; /* the last place is the end */
    bool           exact = n_exact > 0;
    for (int row = 0; row <= n_exact; row++)
        for (int j = 0; j < n; j++) {
            const double *before = &c->cost[(exact ? row - 1 : 0) * n];
            double       *best = &c->cost[row * n + j];
            *best = row == 0 && (double)p->before[j] <= bound ? 0 : INFINITY;
            c->from[row * n + j] = -1;
            for (int i = j - 1; i >= 0 && (row || !exact) && (double)(p->before[j] - p->before[i]) <= bound; i--)
                if (before[i] + (double)p->crossing[i] < *best) {
                    *best = before[i] + (double)p->crossing[i];
                    c->from[row * n + j] = i;
                }
        }
    int row = n_exact, n_cuts = 0, at = n - 1;
    if (!isfinite(c->cost[row * n + at]))
        return;
    for (at = c->from[row * n + at]; at >= 0; at = c->from[row * n + at]) {
        c->cuts[n_cuts++] = p->places[at];
        row -= exact;
    }
    for (int i = 0; i < n_cuts / 2; i++) {
        int other = c->cuts[i];
        c->cuts[i] = c->cuts[n_cuts - 1 - i];
        c->cuts[n_cuts - 1 - i] = other;
    }
    consider(c, c->cuts, n_cuts);
}

static void even(chooser *c, int n_segments)
{
    int n = 0;
    for (int s = 1; s < n_segments; s++) {
        int at = (int)((int64_t)c->p->n_places * s / n_segments);
        if (at < c->p->n_places && (!n || c->cuts[n - 1] < c->p->places[at]))
            c->cuts[n++] = c->p->places[at];
    }
    if (c->wanted < 0 || n == c->wanted - 1)
        consider(c, c->cuts, n);
}

static assay_status choose(assay_env *env, planner *p, int segments, chooser *c)
{
    int rows = segments > 0 ? segments - 1 : 0, n = p->n_places + 1;
    *c = (chooser){.p = p, .wanted = segments, .n_best = -1};
    if (segments > 0 && rows > p->n_places)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "training: --recompute %d: the forward pass of '%s' can be cut into at most %d segments", segments,
                       p->model->name, p->n_places + 1);
    c->cost = AS_TAKE(p->arena, double, (size_t)(rows + 2) * (size_t)n);
    c->from = AS_TAKE(p->arena, int, (size_t)(rows + 2) * (size_t)n);
    c->cuts = AS_TAKE(p->arena, int, n + 1);
    c->best_cuts = AS_TAKE(p->arena, int, n + 1);
    c->stack = AS_TAKE(p->arena, int, (size_t)p->model->n_nodes * 2 + 2);
    c->kept = AS_TAKE(p->arena, bool, p->model->n_values + 1);
    if (!c->cost || !c->from || !c->cuts || !c->best_cuts || !c->stack || !c->kept)
        return no_memory(env);
    if (segments < 0 || segments == 1)
        consider(c, c->cuts, 0);
    if (segments == 1 || !p->n_places)
        return c->n_best < 0 ? no_memory(env) : ASSAY_OK;
    double total = (double)p->before[n - 1];
    for (int i = 0; i <= N_BOUNDS; i++)
        bounded(c, total * exp2(-(double)i / 4), rows);
    even(c, segments > 0 ? segments : (int)lround(sqrt(p->n_forward)));
    /* No bound may allow exactly that many: then the bytes at the cuts alone decide. */
    if (c->n_best < 0 && rows)
        bounded(c, total, rows);
    return c->n_best < 0 ? no_memory(env) : ASSAY_OK;
}

/* --- The graph ----------------------------------------------------------------------------------------------- */

static void nodes_write(as_rewrite *r, const planner *p)
{
    const assay_model *m = p->model;
    int               *again_ids = AS_TAKE(&r->arena, int, m->n_values + 1);
    for (int e = 0; again_ids && e < p->n_order; e++) {
        bool           is_copy = p->order[e] >= m->n_nodes;
        int            at = is_copy ? p->order[e] - m->n_nodes : p->order[e], in[AS_MAX_IN], out[AS_MAX_OUT];
        const as_node *a = &m->nodes[at];
        as_rewrite_inputs(r, at, in);
        for (int k = 0; k < a->n_in; k++)
            if (a->in[k] >= 0 && operand(p, e, a->in[k]) != a->in[k])
                in[k] = again_ids[a->in[k]];
        as_rewrite_node(r, at, in, is_copy ? "again:" : NULL, AS_PASS_RECOMPUTE, out);
        for (int k = 0; k < a->n_out && is_copy; k++)
            again_ids[a->out[k]] = out[k];
    }
    if (!again_ids)
        as_maker_fail(r->m, "not enough memory for the nodes that are computed again");
}

static assay_status planner_make(assay_env *env, const as_rewrite *r, as_arena *arena, planner *p)
{
    const assay_model *m = r->from;
    size_t             n = (size_t)m->n_values + 1, nodes = (size_t)m->n_nodes + 1;
    *p = (planner){.model = m,
                   .graph = &r->graph,
                   .arena = arena,
                   .n_forward = as_rewrite_backward(m),
                   .given = as_rewrite_given(m, arena),
                   .root = AS_TAKE(arena, int, n),
                   .bytes = AS_TAKE(arena, uint64_t, n),
                   .producer = AS_TAKE(arena, int, n),
                   .stays = AS_TAKE(arena, bool, n),
                   .segment = AS_TAKE(arena, int, nodes),
                   .copy = AS_TAKE(arena, int, n),
                   .order = AS_TAKE(arena, int, 2 * nodes),
                   .last = AS_TAKE(arena, int, 2 * n),
                   .born = AS_TAKE(arena, int, 2 * n),
                   .pending = AS_TAKE(arena, unsigned char, nodes)};
    if (!p->given || !p->root || !p->bytes || !p->producer || !p->stays || !p->segment || !p->copy || !p->order || !p->last ||
        !p->born || !p->pending)
        return no_memory(env);
    if (p->n_forward == m->n_nodes)
        return as_fail(env, ASSAY_INTERNAL, "training: '%s' has no backward pass for which anything could be computed again",
                       m->name);
    values_read(p);
    return places_find(env, p);
}

assay_status as_recompute_apply(assay_env *env, int segments, assay_model **model, as_recompute *out)
{
    as_rewrite   r;
    planner      p;
    chooser      c;
    as_arena     arena = {0};
    assay_status status = as_rewrite_begin(env, *model, &r);
    if (status == ASSAY_OK)
        status = planner_make(env, &r, &arena, &p);
    if (status == ASSAY_OK)
        status = choose(env, &p, segments, &c);
    if (status == ASSAY_OK) {
        *out = c.best;
        if (c.n_best) {
            lay_out(&p, c.best_cuts, c.n_best, c.kept, c.stack);
            nodes_write(&r, &p);
        }
    }
    status = as_rewrite_end(&r, status, status == ASSAY_OK && c.n_best ? model : NULL);
    as_arena_drop(&arena);
    return status;
}

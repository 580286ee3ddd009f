/* calltree.c - stack samples, spans and layers as one tree of calls. */
#include "analysis/trace/calltree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NO_MEMORY "not enough memory for the tree of calls"

const char *as_call_source_text(as_call_source source)
{
    static const char *const texts[] = {"samples", "spans", "layers"};
    return (unsigned)source < AS_N_CALL_SOURCES ? texts[source] : "";
}

/* --- Building ------------------------------------------------------------------------------------------------ */

/* A growing tree, with two indices: functions by name and place, children by parent and function. */
typedef struct builder {
    as_arena     *arena;
    as_call_tree *tree;
    size_t        cap_nodes, cap_functions;
    uint32_t     *function_slots, *node_slots; /* index + 1; 0: free */
    size_t        n_function_slots, n_node_slots;
    bool          failed;
} builder;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t function_hash(const as_call_function *f)
{
    return mix(as_hash64(f->name, strlen(f->name)) ^ mix(as_hash64(f->place, strlen(f->place)) + (uint64_t)f->is_code) ^
               mix((uint64_t)(uint32_t)f->step));
}

static uint64_t node_hash(int parent, int function) { return mix((uint64_t)(uint32_t)parent << 32 | (uint32_t)function); }

/* Arrays double; the old ones stay in the arena, less than the new ones together. */
static bool grow(builder *b, void **array, size_t n, size_t *capacity, size_t bytes_each)
{
    if (n < *capacity)
        return true;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void  *more = wanted > INT32_MAX ? NULL : as_arena_take(b->arena, wanted, bytes_each, 16);
    if (!more) {
        b->failed = true;
        return false;
    }
    if (n)
        memcpy(more, *array, n * bytes_each);
    *array = more;
    *capacity = wanted;
    return true;
}

static bool functions_index(builder *b)
{
    size_t n = b->n_function_slots ? 2 * b->n_function_slots : 256;
    if (!(b->function_slots = AS_TAKE(b->arena, uint32_t, n))) {
        b->failed = true;
        return false;
    }
    b->n_function_slots = n;
    for (size_t i = 0; i < b->tree->n_functions; i++) {
        size_t at = (size_t)function_hash(&b->tree->functions[i]) & (n - 1);
        while (b->function_slots[at])
            at = (at + 1) & (n - 1);
        b->function_slots[at] = (uint32_t)i + 1;
    }
    return true;
}

static bool nodes_index(builder *b)
{
    size_t n = b->n_node_slots ? 2 * b->n_node_slots : 256;
    if (!(b->node_slots = AS_TAKE(b->arena, uint32_t, n))) {
        b->failed = true;
        return false;
    }
    b->n_node_slots = n;
    for (size_t i = 0; i < b->tree->n_nodes; i++) {
        size_t at = (size_t)node_hash(b->tree->nodes[i].parent, b->tree->nodes[i].function) & (n - 1);
        while (b->node_slots[at])
            at = (at + 1) & (n - 1);
        b->node_slots[at] = (uint32_t)i + 1;
    }
    return true;
}

/* The function of this name and place, a new one where there is none; -1: no memory. */
static int function_of(builder *b, const as_call_function *wanted)
{
    as_call_tree *tree = b->tree;
    if (2 * tree->n_functions >= b->n_function_slots && !functions_index(b))
        return -1;
    size_t mask = b->n_function_slots - 1, at = (size_t)function_hash(wanted) & mask;
    for (; b->function_slots[at]; at = (at + 1) & mask) {
        const as_call_function *f = &tree->functions[b->function_slots[at] - 1];
        if (f->is_code == wanted->is_code && f->step == wanted->step && !strcmp(f->name, wanted->name) &&
            !strcmp(f->place, wanted->place))
            return (int)b->function_slots[at] - 1;
    }
    if (!grow(b, (void **)&tree->functions, tree->n_functions, &b->cap_functions, sizeof *tree->functions))
        return -1;
    tree->functions[tree->n_functions] = *wanted;
    b->function_slots[at] = (uint32_t)tree->n_functions + 1;
    return (int)tree->n_functions++;
}

/* The child of a parent, a new one where there is none; -1: no memory, or there is no parent for the same reason. */
static int child_of(builder *b, int parent, int function)
{
    as_call_tree *tree = b->tree;
    if (function < 0 || (parent < 0 && tree->n_nodes))
        return -1;
    if (2 * tree->n_nodes >= b->n_node_slots && !nodes_index(b))
        return -1;
    size_t mask = b->n_node_slots - 1, at = (size_t)node_hash(parent, function) & mask;
    for (; b->node_slots[at]; at = (at + 1) & mask) {
        const as_call_node *n = &tree->nodes[b->node_slots[at] - 1];
        if (n->parent == parent && n->function == function)
            return (int)b->node_slots[at] - 1;
    }
    if (!grow(b, (void **)&tree->nodes, tree->n_nodes, &b->cap_nodes, sizeof *tree->nodes))
        return -1;
    tree->nodes[tree->n_nodes] = (as_call_node){.function = function,
                                                .parent = parent,
                                                .first_child = -1,
                                                .next = -1,
                                                .depth = parent < 0 ? 0 : tree->nodes[parent].depth + 1};
    b->node_slots[at] = (uint32_t)tree->n_nodes + 1;
    return (int)tree->n_nodes++;
}

static int named_child(builder *b, int parent, const char *name)
{
    return child_of(b, parent,
                    function_of(b, &(as_call_function){.name = name, .place = "", .category = "", .frame = -1, .step = -1}));
}

static bool begin(builder *b, as_arena *arena, as_call_tree *tree, as_call_source source, const char *root)
{
    *tree = (as_call_tree){.source = source, .unit_ns = 1};
    *b = (builder){.arena = arena, .tree = tree};
    return named_child(b, -1, root) == 0;
}

/* --- Finishing: totals, order, functions ------------------------------------------------------------------------ */

typedef struct by_total {
    uint64_t total;
    int      node;
} by_total;

static int greater_first(const void *x, const void *y)
{
    const by_total *a = x, *b = y;
    return a->total != b->total ? (a->total > b->total ? -1 : 1) : (a->node > b->node) - (a->node < b->node);
}

/* Siblings are linked so that the one with the greatest total is the first. */
static bool link_children(builder *b)
{
    as_call_tree *tree = b->tree;
    by_total     *all = AS_TAKE(b->arena, by_total, tree->n_nodes);
    if (!all)
        return false;
    for (size_t i = 0; i < tree->n_nodes; i++)
        all[i] = (by_total){tree->nodes[i].total, (int)i};
    qsort(all, tree->n_nodes, sizeof *all, greater_first);
    for (size_t i = tree->n_nodes; i-- > 0;) { /* the smallest is put in front first */
        as_call_node *n = &tree->nodes[all[i].node];
        if (n->parent < 0)
            continue;
        n->next = tree->nodes[n->parent].first_child;
        tree->nodes[n->parent].first_child = all[i].node;
    }
    return true;
}

/* Walks the tree in depth without recursion: a stack may be a hundred thousand frames deep. */
static int next_in_depth(const as_call_tree *tree, int at, void (*leave)(void *ctx, int node), void *ctx)
{
    if (tree->nodes[at].first_child >= 0)
        return tree->nodes[at].first_child;
    for (; at >= 0; at = tree->nodes[at].parent) {
        leave(ctx, at);
        if (tree->nodes[at].next >= 0)
            return tree->nodes[at].next;
    }
    return -1;
}

typedef struct open_calls {
    const as_call_tree *tree;
    uint32_t           *open; /* of each function, how many of its calls are open */
} open_calls;

static void call_leave(void *ctx, int node)
{
    open_calls *o = ctx;
    o->open[o->tree->nodes[node].function]--;
}

/* An outer call's total holds that of the inner ones. */
static bool functions_sum(builder *b)
{
    as_call_tree *tree = b->tree;
    open_calls    o = {tree, AS_TAKE(b->arena, uint32_t, tree->n_functions)};
    if (!o.open)
        return false;
    for (int at = 0; at >= 0; at = next_in_depth(tree, at, call_leave, &o)) {
        const as_call_node *n = &tree->nodes[at];
        as_call_function   *f = &tree->functions[n->function];
        bool                outermost = !o.open[n->function]++;
        f->self += n->self;
        f->waiting += n->waiting;
        f->total += outermost ? n->total : 0;
        f->count += outermost || tree->source != AS_CALLS_SAMPLES ? n->count : 0; /* a sample is in a function once */
    }
    return true;
}

static as_call_tree finish(builder *b)
{
    as_call_tree *tree = b->tree;
    for (size_t i = tree->n_nodes; i-- > 0;) {
        as_call_node *n = &tree->nodes[i];
        n->total += n->self;
        tree->waiting += n->waiting;
        if (n->parent < 0)
            continue;
        tree->nodes[n->parent].total += n->total;
        if (tree->source == AS_CALLS_SAMPLES)
            tree->nodes[n->parent].count += n->count;
    }
    if (b->failed || !link_children(b) || !functions_sum(b))
        return (as_call_tree){.source = tree->source, .unit_ns = 1, .unknown = NO_MEMORY};
    tree->whole = tree->nodes[0].total;
    if (!tree->whole)
        tree->unknown = "no time was recorded";
    return *tree;
}

static as_call_tree nothing(as_call_source source, const char *why)
{
    return (as_call_tree){.source = source, .unit_ns = 1, .unknown = why};
}

/* --- Stack samples ------------------------------------------------------------------------------------------- */

static int frame_function(builder *b, const assay_trace *t, int frame)
{
    const as_trace_frame *f = &t->frames[frame];
    return function_of(b, &(as_call_function){.name = *f->name ? f->name : "(no name)",
                                              .place = *f->object ? f->object : f->file,
                                              .category = f->category,
                                              .frame = frame,
                                              .step = -1,
                                              .is_code = true});
}

/* The node of each stack that was seen, or that one that was seen was called from; -1 of the others.  Stacks come after their callers. */
static int *stack_nodes(builder *b, const assay_trace *t)
{
    int *nodes = AS_TAKE(b->arena, int, t->n_stacks);
    if (!nodes) {
        b->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < t->n_looks; i++)
        if (t->looks[i].stack < t->n_stacks)
            nodes[t->looks[i].stack] = 1;
    for (size_t i = t->n_stacks; i-- > 0;)
        if (nodes[i] && t->stacks[i].parent >= 0)
            nodes[t->stacks[i].parent] = 1;
    for (size_t i = 0; i < t->n_stacks; i++) {
        int parent = t->stacks[i].parent;
        nodes[i] = nodes[i] ? child_of(b, parent < 0 ? 0 : nodes[parent], frame_function(b, t, t->stacks[i].frame)) : -1;
    }
    return nodes;
}

as_call_tree as_call_tree_of_samples(as_arena *arena, const assay_trace *t)
{
    as_call_tree tree;
    builder      b;
    uint64_t     whole = 0;
    if (!t->n_looks)
        return nothing(AS_CALLS_SAMPLES, "no stack was sampled");
    if (!begin(&b, arena, &tree, AS_CALLS_SAMPLES, "all samples"))
        return nothing(AS_CALLS_SAMPLES, NO_MEMORY);
    const int *nodes = stack_nodes(&b, t);
    for (size_t i = 0; nodes && !b.failed && i < t->n_looks; i++) {
        const as_stack_sample *look = &t->looks[i];
        if (look->stack >= t->n_stacks || __builtin_add_overflow(whole, look->weight_ns, &whole)) {
            tree.n_left_out++;
            continue;
        }
        as_call_node *n = &tree.nodes[nodes[look->stack]];
        n->self += look->weight_ns;
        n->waiting += look->state == AS_STACK_OFF_CPU ? look->weight_ns : 0;
        n->count++;
    }
    return finish(&b);
}

/* --- Spans of the user's own code -------------------------------------------------------------------------------- */

typedef struct user_span {
    uint64_t begin, end; /* ns */
    int      frame, lane;
    size_t   order;
} user_span;

/* By lane, then by begin; of two that begin together, the longer one is outside. */
static int outer_first(const void *x, const void *y)
{
    const user_span *a = x, *b = y;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Times are rounded, not lengths: so parts of a whole still add up. */
static bool to_ns(const assay_trace *t, uint64_t ticks, uint64_t *out)
{
    double ns = (double)ticks * t->ns_per_tick;
    if (!(ns >= 0 && ns < 0x1p53))
        return false;
    *out = (uint64_t)llround(ns);
    return true;
}

static user_span *spans_sort(as_arena *arena, const assay_trace *t, size_t *n, uint64_t *left_out)
{
    size_t room = 0;
    for (size_t i = 0; i < t->n_spans; i++)
        room += t->spans[i].kind == AS_SPAN_USER;
    user_span *all = AS_TAKE(arena, user_span, room);
    *n = 0;
    for (size_t i = 0; all && i < t->n_spans; i++) {
        const as_span *s = &t->spans[i];
        user_span      u = {.frame = s->step, .lane = s->thread, .order = i};
        if (s->kind != AS_SPAN_USER)
            continue;
        if (s->step < 0 || (size_t)s->step >= t->n_frames || s->thread >= t->n_lanes || s->end_ticks < s->begin_ticks ||
            !to_ns(t, s->begin_ticks, &u.begin) || !to_ns(t, s->end_ticks, &u.end))
            ++*left_out;
        else
            all[(*n)++] = u;
    }
    if (all)
        qsort(all, *n, sizeof *all, outer_first);
    return all;
}

static const char *lane_name(as_arena *arena, const assay_trace *t, int lane)
{
    const as_trace_lane *l = &t->lanes[lane];
    const char *text = l->tid || !*l->name ? as_arena_printf(arena, "thread %" PRIu32 "%s%s", l->tid, *l->name ? " " : "", l->name)
                                           : as_arena_text(arena, l->name);
    return text ? text : "thread";
}

/* What is open on a lane: each span's node, its end, and how far its time has been given away. */
typedef struct open_span {
    int      node;
    uint64_t end, given_to;
} open_span;

static void close_until(as_call_tree *tree, open_span *open, size_t *n_open, uint64_t time, size_t keep)
{
    while (*n_open > keep && open[*n_open - 1].end <= time) {
        open_span *o = &open[--*n_open];
        tree->nodes[o->node].self += o->end - o->given_to;
        if (*n_open)
            open[*n_open - 1].given_to = o->end;
    }
}

/* One lane: its time from the first begin to the last end belongs to the innermost open span, or to the lane itself. */
static void lane_add(builder *b, const assay_trace *t, const user_span *spans, size_t n, open_span *open)
{
    as_call_tree *tree = b->tree;
    uint64_t      end = 0;
    int           lane = named_child(b, 0, lane_name(b->arena, t, spans[0].lane));
    for (size_t i = 0; i < n; i++)
        end = spans[i].end > end ? spans[i].end : end;
    if (lane < 0)
        return;
    open[0] = (open_span){lane, end, spans[0].begin};
    size_t n_open = 1;
    for (size_t i = 0; i < n; i++) {
        close_until(tree, open, &n_open, spans[i].begin, 1);
        open_span *outer = &open[n_open - 1];
        uint64_t   until = spans[i].end;
        if (until > outer->end)
            tree->n_crossing++, until = outer->end;
        int function = frame_function(b, t, spans[i].frame), node = child_of(b, outer->node, function);
        if (node < 0)
            return;
        tree->functions[function].flops += t->frames[spans[i].frame].flops;
        tree->functions[function].bytes += t->frames[spans[i].frame].bytes;
        tree->nodes[node].count++;
        tree->nodes[outer->node].self += spans[i].begin - outer->given_to;
        outer->given_to = spans[i].begin;
        open[n_open++] = (open_span){node, until, spans[i].begin};
    }
    close_until(tree, open, &n_open, end, 0);
}

/* The totals of a thread's call paths count every span, also those that were not kept.  Time that is in no path below is its own. */
static as_call_tree tree_of_totals(as_arena *arena, const assay_trace *t)
{
    as_call_tree tree;
    builder      b;
    uint64_t     whole = 0;
    int         *nodes = AS_TAKE(arena, int, t->n_stacks);
    uint64_t    *ticks = AS_TAKE(arena, uint64_t, t->n_stacks), *below = AS_TAKE(arena, uint64_t, t->n_stacks);
    if (!nodes || !ticks || !below || !begin(&b, arena, &tree, AS_CALLS_SPANS, "all threads"))
        return nothing(AS_CALLS_SPANS, NO_MEMORY);
    tree.unit_ns = t->ns_per_tick;
    for (size_t i = 0; i < t->n_stack_totals; i++)
        if (t->stack_totals[i].stack < t->n_stacks)
            nodes[t->stack_totals[i].stack] = 1;
    for (size_t i = t->n_stacks; i-- > 0;)
        if (nodes[i] && t->stacks[i].parent >= 0)
            nodes[t->stacks[i].parent] = 1;
    for (size_t i = 0; i < t->n_stacks; i++) {
        int                   parent = t->stacks[i].parent;
        const as_trace_frame *frame = &t->frames[t->stacks[i].frame];
        if (nodes[i])
            nodes[i] = parent < 0 ? named_child(&b, 0, *frame->name ? frame->name : "thread")
                                  : child_of(&b, nodes[parent], frame_function(&b, t, t->stacks[i].frame));
        else
            nodes[i] = -1;
    }
    for (size_t i = 0; !b.failed && i < t->n_stack_totals; i++) {
        const as_stack_total *x = &t->stack_totals[i];
        if (x->stack >= t->n_stacks || __builtin_add_overflow(whole, x->sum_ticks, &whole)) {
            tree.n_left_out++;
            continue;
        }
        as_call_node *n = &tree.nodes[nodes[x->stack]];
        n->count += x->count;
        tree.functions[n->function].flops += x->flops;
        tree.functions[n->function].bytes += x->bytes;
        ticks[x->stack] += x->sum_ticks;
    }
    /* Own time is the total without the paths below, which come later in the list; where these are more, they are the total. */
    for (size_t i = t->n_stacks; !b.failed && i-- > 0;) {
        if (nodes[i] < 0)
            continue;
        uint64_t total = ticks[i] > below[i] ? ticks[i] : below[i];
        tree.nodes[nodes[i]].self += total - below[i];
        if (t->stacks[i].parent >= 0)
            below[t->stacks[i].parent] += total;
    }
    return finish(&b);
}

as_call_tree as_call_tree_of_spans(as_arena *arena, const assay_trace *t)
{
    as_call_tree tree;
    builder      b;
    size_t       n;
    uint64_t     left_out = 0;
    if (t->n_stack_totals)
        return tree_of_totals(arena, t);
    user_span *all = spans_sort(arena, t, &n, &left_out);
    if (all && !n)
        return nothing(AS_CALLS_SPANS, "the trace has no spans of the user's own code");
    open_span *open = AS_TAKE(arena, open_span, n + 1);
    if (!all || !open || !begin(&b, arena, &tree, AS_CALLS_SPANS, "all threads"))
        return nothing(AS_CALLS_SPANS, NO_MEMORY);
    tree.n_left_out = left_out;
    for (size_t from = 0, to; from < n && !b.failed; from = to) {
        for (to = from + 1; to < n && all[to].lane == all[from].lane;)
            to++;
        lane_add(&b, t, all + from, to - from, open);
    }
    return finish(&b);
}

/* --- Layers of a run ----------------------------------------------------------------------------------------------- */

#define PS_PER_NS 1000.0

/* Picoseconds of a time in ns, so that a mean keeps its digits; false: there is none. */
static bool to_ps(const assay_metric *m, uint64_t *out)
{
    if (!m || !as_metric_has(m) || !(m->value >= 0 && m->value < 0x1p53 / PS_PER_NS))
        return false;
    *out = (uint64_t)llround(m->value * PS_PER_NS);
    return true;
}

/* Down the module's path from the root. */
static int module_node(builder *b, const char *path)
{
    int at = 0, depth = as_module_depth(path);
    for (int i = 1; i <= depth && at >= 0; i++) {
        size_t      n = as_module_prefix(path, i);
        const char *name = as_arena_text_n(b->arena, path, n);
        at = name ? named_child(b, at, name) : -1;
    }
    b->failed |= at < 0;
    return at;
}

static void layer_add(builder *b, const as_trace_step *s, size_t index, const assay_metric *time, uint64_t ps)
{
    int function = function_of(b, &(as_call_function){.name = *s->name ? s->name : "(no name)",
                                                      .place = s->kernel,
                                                      .category = "",
                                                      .frame = -1,
                                                      .step = (int)index,
                                                      .is_code = true});
    int node = child_of(b, module_node(b, s->module), function);
    if (node < 0)
        return;
    b->tree->nodes[node].self += ps;
    b->tree->nodes[node].count += time->n;
    b->tree->functions[function].flops += s->flops;
    b->tree->functions[function].bytes += s->bytes_read + s->bytes_written;
}

as_call_tree as_call_tree_of_layers(as_arena *arena, const assay_trace *t, const assay_facts *f)
{
    const as_table     *layers = as_facts_table_find(f, "layers", "steps");
    const assay_metric *run = as_facts_metric(f, "layers.run_mean");
    as_call_tree        tree;
    builder             b;
    uint64_t            whole, sum = 0, ps;
    int                 row = 0, column = layers ? as_column_find(layers, "time") : -1;
    if (!layers || column < 0 || !to_ps(run, &whole))
        return nothing(AS_CALLS_LAYERS, run && run->reason ? run->reason : "the run has no times per layer");
    if (!begin(&b, arena, &tree, AS_CALLS_LAYERS, "run"))
        return nothing(AS_CALLS_LAYERS, NO_MEMORY);
    tree.unit_ns = 1 / PS_PER_NS;
    for (size_t i = 0; i < t->n_steps && row < layers->n_rows && !b.failed; i++) {
        if (!strcmp(t->steps[i].stage, "prologue"))
            continue; /* no part of a run, and in a table of its own */
        const as_cell *cell = as_cell_at(layers, row++, column);
        if (cell->text || !to_ps(&cell->metric, &ps))
            return nothing(AS_CALLS_LAYERS, cell->text            ? "a layer has no time"
                                            : cell->metric.reason ? cell->metric.reason
                                                                  : "a layer has no time");
        if (!__builtin_add_overflow(sum, ps, &sum))
            layer_add(&b, &t->steps[i], i, &cell->metric, ps);
    }
    tree.nodes[0].self = whole > sum ? whole - sum : 0; /* rounding may leave the sum a picosecond above */
    tree.nodes[0].count = run->n;
    return finish(&b);
}

/* --- Callers and callees ------------------------------------------------------------------------------------------ */

static int heavier_first(const void *x, const void *y)
{
    const as_call_edge *a = x, *b = y;
    return a->total != b->total ? (a->total > b->total ? -1 : 1) : a->function - b->function;
}

typedef struct open_edges {
    open_calls calls;
    int        function;
    bool       callers;
    uint32_t  *open; /* of each function at the other end, how many edges to it are open */
} open_edges;

/* The function at the other end of the edge into this node, or -1: the edge is not of the function asked for. */
static int other_end(const open_edges *e, int node)
{
    const as_call_tree *tree = e->calls.tree;
    int                 parent = tree->nodes[node].parent;
    if (parent < 0)
        return -1;
    int caller = tree->nodes[parent].function, callee = tree->nodes[node].function;
    if (e->callers)
        return callee == e->function ? caller : -1;
    return caller == e->function ? callee : -1;
}

static void edge_leave(void *ctx, int node)
{
    open_edges *e = ctx;
    int         other = other_end(e, node);
    if (other >= 0)
        e->open[other]--;
}

static as_call_edge *edges_of(as_arena *arena, const as_call_tree *tree, int function, bool callers, size_t *n)
{
    as_call_edge *sums = AS_TAKE(arena, as_call_edge, tree->n_functions);
    open_edges    e = {
           .calls = {tree, NULL}, .function = function, .callers = callers, .open = AS_TAKE(arena, uint32_t, tree->n_functions)};
    *n = 0;
    if (!sums || !e.open)
        return NULL;
    for (int at = tree->n_nodes ? 0 : -1; at >= 0; at = next_in_depth(tree, at, edge_leave, &e)) {
        int other = other_end(&e, at);
        if (other < 0)
            continue;
        sums[other].total += e.open[other]++ ? 0 : tree->nodes[at].total;
        sums[other].count += tree->nodes[at].count;
    }
    for (size_t i = 0; i < tree->n_functions; i++)
        if (sums[i].total || sums[i].count)
            sums[(*n)++] = (as_call_edge){.function = (int)i, .total = sums[i].total, .count = sums[i].count};
    qsort(sums, *n, sizeof *sums, heavier_first);
    return sums;
}

as_call_edge *as_call_callers(as_arena *arena, const as_call_tree *tree, int function, size_t *n)
{
    return edges_of(arena, tree, function, true, n);
}

as_call_edge *as_call_callees(as_arena *arena, const as_call_tree *tree, int function, size_t *n)
{
    return edges_of(arena, tree, function, false, n);
}

/* ps_layout.c - stores activations of convolutions in NHWC; inputs and outputs keep ONNX's order.
 *
 * Axes and shapes stay; only the order in memory changes, and only where the device has a kernel that takes it.  There are three
 * walks.  Forward: a convolution's result becomes NHWC, and so does what follows it.  Backward: a value that no reader takes in
 * NHWC becomes row-major again if its producer can write that (the last pool before a Flatten).  Forward again: a reader that
 * does not take the order of its input gets a Relayout before it. */
#include <string.h>

#include "plan/edit.h"
#include "plan/lower.h"

typedef struct walk {
    assay_env         *env;
    as_graph          *g;
    const as_pass_ctx *ctx;
    int                n_nhwc, n_relayouts;
    uint64_t           bytes;
} walk;

static as_layout *layout_of(const walk *w, int value) { return &w->g->values[value].info.layout; }
static bool       is_nhwc(const walk *w, int value) { return value >= 0 && *layout_of(w, value) == AS_LAYOUT_NHWC; }

/* Asks with the current layouts of its values. */
static bool is_taken(const walk *w, int id)
{
    as_arena arena = {0};
    as_edit_refresh(w->g, id);
    bool taken = as_edit_is_taken(w->env, w->ctx, &arena, &w->g->nodes[id].ctx);
    as_arena_drop(&arena);
    return taken;
}

static bool reads_nhwc(const walk *w, const as_bound_node *node)
{
    for (int k = 0; k < node->ctx.n_in; k++)
        if (is_nhwc(w, node->in[k]))
            return true;
    return false;
}

/* Whether the result may have another order: the node has one output, and it is not a graph output. */
static bool is_movable(const walk *w, const as_bound_node *node)
{
    if (node->ctx.n_out != 1 || node->out[0] < 0 || as_edit_is_output(w->g, node->out[0]))
        return false;
    const as_bound_value *v = &w->g->values[node->out[0]];
    return v->role == AS_ROLE_COMPUTED && v->info.shape.rank > 2 && v->info.dtype == AS_F32;
}

static assay_status relayout_add(walk *w, int before, int value, as_layout to, int *out)
{
    const as_bound_value *v = &w->g->values[value];
    /* It belongs to the module that made the value, otherwise to the one that reads it. */
    const as_node_ctx *maker = v->producer >= 0 ? &w->g->nodes[v->producer].ctx : NULL;
    bool               of_module = maker && maker->module && *maker->module;
    as_edit            edit = {
                   .op = "assay.Relayout",
                   .name = as_arena_printf(w->g->arena, "%s to %s", of_module ? maker->name : v->name, to == AS_LAYOUT_NHWC ? "nhwc" : "nchw"),
                   .module = of_module                ? maker->module
                             : before < w->g->n_nodes ? w->g->nodes[before].ctx.module
                                                      : NULL,
                   .in = &value,
                   .n_in = 1,
                   .out = -1,
                   .layout = to};
    uint64_t bytes = as_info_bytes(&v->info);
    AS_TRY(as_edit_insert(w->env, w->g, before, &edit, out));
    w->n_relayouts++;
    w->bytes += 2 * bytes;
    return ASSAY_OK;
}

/* Operands of the output's shape, or the residual before a pool, that are still row-major; any other is broadcast or a weight. */
static int others_find(const walk *w, const as_bound_node *node, int *others, int max)
{
    int n = 0;
    for (int k = 0; k < node->ctx.n_in && n < max; k++)
        if (node->in[k] >= 0 && !is_nhwc(w, node->in[k]) &&
            (as_shape_same(&node->ctx.in[k].shape, &node->ctx.out[0].shape) || (k == 3 && as_edit_is(node, "assay.FusedConv"))))
            others[n++] = k;
    return n;
}

/* One operand of an Add comes from elsewhere and is row-major: it becomes NHWC if the device then takes the node. */
static assay_status others_follow(walk *w, int *id)
{
    int others[8], n = others_find(w, &w->g->nodes[*id], others, (int)AS_COUNT(others)), value;
    if (!n)
        return ASSAY_OK;
    for (int i = 0; i < n; i++)
        *layout_of(w, w->g->nodes[*id].in[others[i]]) = AS_LAYOUT_NHWC;
    *layout_of(w, w->g->nodes[*id].out[0]) = AS_LAYOUT_NHWC;
    bool taken = is_taken(w, *id);
    for (int i = 0; i < n; i++)
        *layout_of(w, w->g->nodes[*id].in[others[i]]) = AS_LAYOUT_ROW_MAJOR;
    if (!taken) {
        *layout_of(w, w->g->nodes[*id].out[0]) = AS_LAYOUT_ROW_MAJOR;
        as_edit_refresh(w->g, *id);
        return ASSAY_OK;
    }
    w->n_nhwc++;
    for (int i = 0; i < n; i++) {
        AS_TRY(relayout_add(w, *id, w->g->nodes[*id].in[others[i]], AS_LAYOUT_NHWC, &value));
        ++*id;
        w->g->nodes[*id].in[others[i]] = value;
    }
    as_edit_refresh(w->g, *id);
    return ASSAY_OK;
}

static assay_status spread(walk *w)
{
    for (int i = 0; i < w->g->n_nodes; i++) {
        const as_bound_node *node = &w->g->nodes[i];
        if (node->dead)
            continue;
        as_edit_refresh(w->g, i);
        bool source = as_edit_is(node, "Conv") || as_edit_is(node, "assay.FusedConv");
        if ((!source && !reads_nhwc(w, node)) || !is_movable(w, node))
            continue;
        int value = node->out[0];
        *layout_of(w, value) = AS_LAYOUT_NHWC;
        if (is_taken(w, i)) {
            w->n_nhwc++;
            continue;
        }
        *layout_of(w, value) = AS_LAYOUT_ROW_MAJOR;
        as_edit_refresh(w->g, i);
        AS_TRY(others_follow(w, &i));
    }
    return ASSAY_OK;
}

static bool has_taker(const walk *w, int producer, int value)
{
    for (int i = producer + 1; i < w->g->n_nodes; i++)
        for (int k = 0; !w->g->nodes[i].dead && k < w->g->nodes[i].ctx.n_in; k++)
            if (w->g->nodes[i].in[k] == value && is_taken(w, i))
                return true;
    return false;
}

static void withdraw(walk *w)
{
    for (int i = w->g->n_nodes - 1; i >= 0; i--) {
        const as_bound_node *node = &w->g->nodes[i];
        if (node->dead || node->ctx.n_out != 1 || !is_nhwc(w, node->out[0]) || has_taker(w, i, node->out[0]))
            continue;
        *layout_of(w, node->out[0]) = AS_LAYOUT_ROW_MAJOR;
        if (is_taken(w, i)) {
            w->n_nhwc--;
            continue;
        }
        *layout_of(w, node->out[0]) = AS_LAYOUT_NHWC;
        as_edit_refresh(w->g, i);
    }
}

/* The row-major copy of a value that an earlier reader asked for, or -1. */
static int copy_find(const walk *w, int before, int value)
{
    for (int i = w->g->values[value].producer + 1; i < before; i++)
        if (as_edit_is(&w->g->nodes[i], "assay.Relayout") && w->g->nodes[i].in[0] == value && !is_nhwc(w, w->g->nodes[i].out[0]))
            return w->g->nodes[i].out[0];
    return -1;
}

static assay_status mend(walk *w)
{
    for (int i = 0; i < w->g->n_nodes; i++) {
        if (w->g->nodes[i].dead)
            continue;
        as_edit_refresh(w->g, i);
        if (!reads_nhwc(w, &w->g->nodes[i]) || is_taken(w, i))
            continue;
        for (int k = 0; k < w->g->nodes[i].ctx.n_in; k++) {
            int value = w->g->nodes[i].in[k];
            if (!is_nhwc(w, value))
                continue;
            int copy = copy_find(w, i, value);
            if (copy < 0) {
                AS_TRY(relayout_add(w, i, value, AS_LAYOUT_ROW_MAJOR, &copy));
                i++;
            }
            w->g->nodes[i].in[k] = copy;
        }
        as_edit_refresh(w->g, i);
    }
    return ASSAY_OK;
}

static assay_status run(assay_env *env, as_graph *graph, const as_pass_ctx *ctx, as_pass_note *note)
{
    walk w = {.env = env, .g = graph, .ctx = ctx};
    if (as_edit_is_too_large(graph, note))
        return ASSAY_OK;
    AS_TRY(spread(&w));
    withdraw(&w);
    AS_TRY(mend(&w));
    note->n_changed = w.n_nhwc;
    note->text = as_arena_printf(graph->arena, "%d values are in NHWC; %d layout changes move %llu bytes", w.n_nhwc, w.n_relayouts,
                                 (unsigned long long)w.bytes);
    return note->text ? ASSAY_OK
                      : as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for a note on %d relayouts", w.n_relayouts);
}

const as_pass as_ps_layout = {
    .name = "layout", .order = 60, .help = "activations of convolutions in NHWC, which the kernels prefer", .run = run};

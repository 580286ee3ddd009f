/* ps_layout.c - stores activations of convolutions, and their gradients, in NHWC; inputs and outputs keep ONNX's order.
 *
 * Axes and shapes stay; only the order in memory changes, and only where the device has a kernel that takes it.  There are three
 * walks.  Forward: the result of a convolution or of a gradient for one becomes NHWC, and so does what follows it.  Backward: a value that no reader takes in
 * NHWC becomes row-major again if its producer can write that (the last pool before a Flatten).  Forward again: a reader that
 * does not take the order of its input gets a Relayout before it.  Last, a ConvTranspose with a stride gets one on each side that is
 * still row-major. */
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

/* Results that begin a chain in NHWC.  The gradient of an average pool is one: behind a Flatten, its own input is row-major. */
static bool is_source(const as_bound_node *node)
{
    static const char *const ops[] = {"Conv", "assay.FusedConv", "ConvTranspose", "assay.ConvGradX", "assay.AveragePoolGrad"};
    for (size_t i = 0; i < AS_COUNT(ops); i++)
        if (as_edit_is(node, ops[i]))
            return true;
    return false;
}

/* The parts of a Split have one order together; a node that has other outputs with an order after the first stays as it is. */
static bool has_one(const as_bound_node *node)
{
    for (int k = 1; k < node->ctx.n_out; k++)
        if (node->out[k] >= 0 && node->ctx.out[k].shape.rank > 2)
            return false;
    return node->ctx.n_out > 0 && node->out[0] >= 0;
}

/* Whether the first result may have another order: it is the only one that has an order, and it is not a graph output. */
static bool is_movable(const walk *w, const as_bound_node *node)
{
    if (!has_one(node) || as_edit_is_output(w->g, node->out[0]))
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

/* Operands of the output's shape, the residual before a pool, or tensors to be joined that are still row-major; any other is
 * broadcast or a weight. */
static int others_find(const walk *w, const as_bound_node *node, int *others, int max)
{
    int n = 0;
    for (int k = 0; k < node->ctx.n_in && n < max; k++)
        if (node->in[k] >= 0 && !is_nhwc(w, node->in[k]) &&
            (as_shape_same(&node->ctx.in[k].shape, &node->ctx.out[0].shape) || (k == 3 && as_edit_is(node, "assay.FusedConv")) ||
             as_edit_is(node, "Concat")))
            others[n++] = k;
    return n;
}

static bool has_taker(const walk *w, int producer, int value)
{
    for (int i = producer + 1; i < w->g->n_nodes; i++)
        for (int k = 0; !w->g->nodes[i].dead && k < w->g->nodes[i].ctx.n_in; k++)
            if (w->g->nodes[i].in[k] == value && is_taken(w, i))
                return true;
    return false;
}

/* Whether a Concat should change the layout of these operands: when a reader wants NHWC, which counts for more than a copy, or when
 * the others, back to row-major, would move more. */
static bool pays(const walk *w, int id, const int *others, int n)
{
    const as_bound_node *node = &w->g->nodes[id];
    uint64_t             move = 0, all = 0;
    if (!as_edit_is(node, "Concat") || has_taker(w, id, node->out[0]))
        return true;
    for (int k = 0; k < node->ctx.n_in; k++)
        if (node->in[k] >= 0)
            all += as_info_bytes(&w->g->values[node->in[k]].info);
    for (int i = 0; i < n; i++)
        move += as_info_bytes(&w->g->values[node->in[others[i]]].info);
    return move <= all - move;
}

/* One operand of an Add comes from elsewhere and is row-major: it becomes NHWC if the device then takes the node. */
static assay_status others_follow(walk *w, int *id)
{
    int others[AS_MAX_IN], n = others_find(w, &w->g->nodes[*id], others, (int)AS_COUNT(others)), value;
    if (!n)
        return ASSAY_OK;
    for (int i = 0; i < n; i++)
        *layout_of(w, w->g->nodes[*id].in[others[i]]) = AS_LAYOUT_NHWC;
    *layout_of(w, w->g->nodes[*id].out[0]) = AS_LAYOUT_NHWC;
    bool taken = is_taken(w, *id) && pays(w, *id, others, n);
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

/* All parts of a Split become NHWC, if the device takes it then. */
static void split_follow(walk *w, int id)
{
    const as_bound_node *node = &w->g->nodes[id];
    if (!as_edit_is(node, "Split") || node->ctx.in[0].shape.rank < 3 || node->ctx.in[0].dtype != AS_F32)
        return;
    for (int k = 0; k < node->ctx.n_out; k++)
        if (node->out[k] < 0 || as_edit_is_output(w->g, node->out[k]))
            return;
    for (int k = 0; k < node->ctx.n_out; k++)
        *layout_of(w, node->out[k]) = AS_LAYOUT_NHWC;
    if (is_taken(w, id)) {
        w->n_nhwc += node->ctx.n_out;
        return;
    }
    for (int k = 0; k < node->ctx.n_out; k++)
        *layout_of(w, node->out[k]) = AS_LAYOUT_ROW_MAJOR;
    as_edit_refresh(w->g, id);
}

static assay_status spread(walk *w)
{
    for (int i = 0; i < w->g->n_nodes; i++) {
        const as_bound_node *node = &w->g->nodes[i];
        if (node->dead)
            continue;
        as_edit_refresh(w->g, i);
        if (!is_source(node) && !reads_nhwc(w, node))
            continue;
        if (!is_movable(w, node)) {
            split_follow(w, i);
            continue;
        }
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

static void withdraw(walk *w)
{
    for (int i = w->g->n_nodes - 1; i >= 0; i--) {
        const as_bound_node *node = &w->g->nodes[i];
        if (node->dead || !has_one(node) || !is_nhwc(w, node->out[0]) || has_taker(w, i, node->out[0]))
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

/* The copy of a value in this layout that an earlier reader asked for, or -1. */
static int copy_find(const walk *w, int before, int value, as_layout layout)
{
    for (int i = w->g->values[value].producer + 1; i < before; i++)
        if (as_edit_is(&w->g->nodes[i], "assay.Relayout") && w->g->nodes[i].in[0] == value &&
            *layout_of(w, w->g->nodes[i].out[0]) == layout)
            return w->g->nodes[i].out[0];
    return -1;
}

/* A convolution copies its input once; pixel by pixel, from planes that are far apart, takes longer than a change of layout before
 * it (SqueezeNet's features.4.squeeze: 0.27 ms from row-major, 0.13 ms from NHWC, without the change itself). */
static bool wants_nhwc(const walk *w, const as_bound_node *node)
{
    enum { FEW = 4 }; /* channels that a first layer reads as planes */
    if (!as_edit_is(node, "Conv") && !as_edit_is(node, "assay.FusedConv"))
        return false;
    const as_bound_value *x = &w->g->values[node->in[0]];
    return x->info.shape.rank == 4 && x->info.dtype == AS_F32 && x->info.layout == AS_LAYOUT_ROW_MAJOR &&
           x->info.shape.dim[1] > FEW && x->info.shape.dim[2] * x->info.shape.dim[3] > 1;
}

static assay_status convolution_mend(walk *w, int *id)
{
    int value = w->g->nodes[*id].in[0], copy;
    *layout_of(w, value) = AS_LAYOUT_NHWC;
    bool taken = is_taken(w, *id);
    *layout_of(w, value) = AS_LAYOUT_ROW_MAJOR;
    as_edit_refresh(w->g, *id);
    if (!taken)
        return ASSAY_OK;
    if ((copy = copy_find(w, *id, value, AS_LAYOUT_NHWC)) < 0) {
        AS_TRY(relayout_add(w, *id, value, AS_LAYOUT_NHWC, &copy));
        ++*id;
        w->n_nhwc++;
    }
    w->g->nodes[*id].in[0] = copy;
    as_edit_refresh(w->g, *id);
    return ASSAY_OK;
}

static assay_status mend(walk *w)
{
    for (int i = 0; i < w->g->n_nodes; i++) {
        if (w->g->nodes[i].dead)
            continue;
        as_edit_refresh(w->g, i);
        if (wants_nhwc(w, &w->g->nodes[i]))
            AS_TRY(convolution_mend(w, &i));
        if (!reads_nhwc(w, &w->g->nodes[i]) || is_taken(w, i))
            continue;
        for (int k = 0; k < w->g->nodes[i].ctx.n_in; k++) {
            int value = w->g->nodes[i].in[k];
            if (!is_nhwc(w, value))
                continue;
            int copy = copy_find(w, i, value, AS_LAYOUT_ROW_MAJOR);
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

/* --- ConvTranspose ---------------------------------------------------------------------------------------- */

/* Whether it has a stride: every phase of it reads all of X again and writes every second element or fewer, which takes much longer
 * row-major than whole pixels do. */
static bool has_phases(const as_bound_node *node)
{
    int64_t strides[3];
    size_t  n = as_edit_is(node, "ConvTranspose") ? as_attr_ints(&node->ctx, "strides", strides, AS_COUNT(strides)) : 0;
    for (size_t i = 0; i < n; i++)
        if (strides[i] > 1)
            return true;
    return false;
}

static bool would_take(walk *w, int id, as_layout x, as_layout y)
{
    as_bound_node *node = &w->g->nodes[id];
    as_layout      was_x = *layout_of(w, node->in[0]), was_y = *layout_of(w, node->out[0]);
    *layout_of(w, node->in[0]) = x, *layout_of(w, node->out[0]) = y;
    bool taken = is_taken(w, id);
    *layout_of(w, node->in[0]) = was_x, *layout_of(w, node->out[0]) = was_y;
    as_edit_refresh(w->g, id);
    return taken;
}

/* Its result becomes a new value in NHWC, and a Relayout writes the old one. */
static assay_status result_turn(walk *w, int id)
{
    const as_bound_node *node = &w->g->nodes[id];
    int                  old = node->out[0], now;
    uint64_t             bytes = as_info_bytes(&w->g->values[old].info);
    as_edit              edit = {.op = node->ctx.op->name,
                                 .in = node->in,
                                 .n_in = node->ctx.n_in,
                                 .attrs = node->ctx.attrs,
                                 .n_attrs = node->ctx.n_attrs,
                                 .out = -1,
                                 .layout = AS_LAYOUT_NHWC};
    AS_TRY(as_edit_replace(w->env, w->g, id, &edit));
    now = w->g->nodes[id].out[0];
    as_edit turn = {.op = "assay.Relayout",
                    .name = as_arena_printf(w->g->arena, "%s to nchw", w->g->nodes[id].ctx.name),
                    .module = w->g->nodes[id].ctx.module,
                    .in = &now,
                    .n_in = 1,
                    .out = old};
    w->n_nhwc++;
    w->n_relayouts++;
    w->bytes += 2 * bytes;
    return as_edit_insert(w->env, w->g, id + 1, &turn, &old);
}

static assay_status phases_turn(walk *w)
{
    for (int i = 0; i < w->g->n_nodes; i++) {
        as_bound_node *node = &w->g->nodes[i];
        if (!has_phases(node) || w->g->values[node->out[0]].info.dtype != AS_F32)
            continue;
        if (!is_nhwc(w, node->in[0]) && node->ctx.in[0].shape.dim[1] > 1 &&
            would_take(w, i, AS_LAYOUT_NHWC, *layout_of(w, node->out[0]))) {
            int value;
            AS_TRY(relayout_add(w, i, node->in[0], AS_LAYOUT_NHWC, &value));
            node = &w->g->nodes[++i];
            node->in[0] = value;
            as_edit_refresh(w->g, i);
        }
        if (!is_nhwc(w, node->out[0]) && node->ctx.out[0].shape.dim[1] > 1 &&
            would_take(w, i, *layout_of(w, node->in[0]), AS_LAYOUT_NHWC))
            AS_TRY(result_turn(w, i++));
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
    AS_TRY(phases_turn(&w));
    note->n_changed = w.n_nhwc;
    note->text = as_arena_printf(graph->arena, "%d values are in NHWC; %d layout changes move %llu bytes", w.n_nhwc, w.n_relayouts,
                                 (unsigned long long)w.bytes);
    return note->text ? ASSAY_OK
                      : as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for a note on %d relayouts", w.n_relayouts);
}

const as_pass as_ps_layout = {
    .name = "layout", .order = 60, .help = "activations of convolutions in NHWC, which the kernels prefer", .run = run};

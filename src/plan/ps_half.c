/* ps_half.c - nodes on f16 and bf16 compute in f32, and their results are rounded.
 *
 * The CPU has no fast kernels of its own for these types, so a node for which there would only be the reference code gets a Cast to f32
 * before each such operand and a Cast back after each such result: exactly the result in f32, rounded once.  Weights are converted in
 * the set-up.  Where rounding first or last gives the same (Relu, Clip, maxima), the two Casts between a node and its
 * reader are left out, so that a convolution and its Relu still become one. */
#include <string.h>

#include "plan/edit.h"
#include "plan/lower.h"

enum { MAX_KNOWN = 4096 }; /* elements of a constant that is converted while planning */

typedef struct halves {
    assay_env         *env;
    as_graph          *g;
    const as_pass_ctx *ctx;
    int               *wide;    /* per value at the start: the same in f32, -1 none yet */
    int               *exact;   /* ... before it was rounded, -1: it is not a result of this pass */
    bool              *skipped; /* ... whether a reader takes that instead */
    int                n_values;
    int                n_changed;
} halves;

static bool is_half(as_dtype dtype) { return dtype == AS_F16 || dtype == AS_BF16; }

static bool has_half(const as_node_ctx *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (is_half(n->in[i].dtype))
            return true;
    for (int i = 0; i < n->n_out; i++)
        if (is_half(n->out[i].dtype))
            return true;
    return false;
}

/* Operators whose attributes or meaning name a type, and those of training, which state where they round. */
static bool is_about_types(const as_node_ctx *n)
{
    static const char *const ops[] = {"Cast",  "CastLike",       "ConstantOfShape",  "Constant",
                                      "Range", "QuantizeLinear", "DequantizeLinear", "assay.Relayout"};
    for (size_t i = 0; i < AS_COUNT(ops); i++)
        if (!strcmp(n->op->name, ops[i]))
            return true;
    return as_attr_find(n, "to") || as_attr_find(n, "dtype") || n->place.pass != AS_PASS_NONE;
}

static bool is_taken(const halves *h, const as_node_ctx *n)
{
    as_arena arena = {0};
    bool     taken = as_edit_is_taken(h->env, h->ctx, &arena, n);
    as_arena_drop(&arena);
    return taken;
}

/* Whether the same node on f32 gives the same shapes and has a kernel. */
static bool would_gain(const halves *h, const as_node_ctx *n)
{
    as_tensor_info in[AS_MAX_IN], out[AS_MAX_OUT] = {0};
    as_node_ctx    wide = *n;
    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    for (int i = 0; i < n->n_in; i++)
        if (is_half(in[i].dtype)) {
            in[i].dtype = AS_F32;
            if (in[i].constant && as_shape_count(&in[i].shape) > MAX_KNOWN)
                in[i].constant = NULL;
        }
    /* A known value has to be f32 as well: its converted copy lives as long as the question. */
    as_arena arena = {0};
    bool     ok = true;
    for (int i = 0; i < n->n_in && ok; i++)
        if (in[i].constant && is_half(n->in[i].dtype)) {
            float  *own = AS_TAKE(&arena, float, as_shape_count(&in[i].shape) + 1);
            as_view from = as_view_of((void *)(uintptr_t)in[i].constant, n->in[i].dtype, &in[i].shape);
            as_view to = as_view_of(own, AS_F32, &in[i].shape);
            ok = own != NULL;
            if (ok)
                as_view_copy(&to, &from);
            in[i].constant = own;
        }
    wide.in = in;
    ok = ok && as_op_infer(NULL, &wide, out) == ASSAY_OK;
    for (int i = 0; i < n->n_out && ok; i++)
        ok =
            as_shape_same(&out[i].shape, &n->out[i].shape) && out[i].dtype == (is_half(n->out[i].dtype) ? AS_F32 : n->out[i].dtype);
    wide.out = out;
    ok = ok && is_taken(h, &wide);
    as_arena_drop(&arena);
    return ok;
}

/* Rounding before or after them gives the same. */
static bool commutes(const as_node_ctx *n)
{
    static const char *const ops[] = {"Relu", "Clip", "MaxPool", "GlobalMaxPool", "Max", "Min", "ReduceMax", "ReduceMin"};
    for (size_t i = 0; i < AS_COUNT(ops); i++)
        if (!strcmp(n->op->name, ops[i]))
            return n->n_out == 1;
    return false;
}

static const as_attr cast_to[] = {AS_ATTR_I("to", 1), AS_ATTR_I("to", 10), AS_ATTR_I("to", 16)}; /* ONNX's numbers */

static assay_status no_memory(const halves *h, const char *name)
{
    return as_fail(h->env, ASSAY_NO_MEMORY, "plan: not enough memory to compute '%s' in f32", name);
}

/* A small constant as another constant. */
static assay_status constant_widen(halves *h, int value, int *out)
{
    const as_bound_value *v = &h->g->values[value];
    float                *own = AS_TAKE(h->g->arena, float, as_shape_count(&v->info.shape) + 1);
    as_bound_value        made = {.name = as_arena_printf(h->g->arena, "%s as f32", v->name),
                                  .role = AS_ROLE_CONSTANT,
                                  .data = own,
                                  .producer = -1,
                                  .model_value = -1,
                                  .info = {.dtype = AS_F32, .shape = v->info.shape, .constant = own}};
    if (!own || !made.name)
        return no_memory(h, v->name);
    as_view from = as_view_of((void *)(uintptr_t)v->info.constant, v->info.dtype, &v->info.shape),
            to = as_view_of(own, AS_F32, &v->info.shape);
    as_view_copy(&to, &from);
    *out = as_graph_add_value(h->g, &made);
    return *out < 0 ? no_memory(h, made.name) : ASSAY_OK;
}

/* The operand in f32; a Cast for it stands before node *id. */
static assay_status widen(halves *h, int *id, int value, bool rounds_later, int *out)
{
    bool known = value < h->n_values;
    if (rounds_later && known && h->exact[value] >= 0) {
        *out = h->exact[value];
        h->skipped[value] = true;
        return ASSAY_OK;
    }
    if (known && h->wide[value] >= 0) {
        *out = h->wide[value];
        return ASSAY_OK;
    }
    const as_bound_value *v = &h->g->values[value];
    if (v->role == AS_ROLE_CONSTANT && v->info.constant && as_shape_count(&v->info.shape) <= MAX_KNOWN) {
        AS_TRY(constant_widen(h, value, out));
    } else {
        as_edit edit = {.op = "Cast",
                        .name = as_arena_printf(h->g->arena, "%s to f32", v->name),
                        .module = h->g->nodes[*id].ctx.module,
                        .in = &value,
                        .n_in = 1,
                        .attrs = &cast_to[0],
                        .n_attrs = 1,
                        .out = -1,
                        .layout = v->info.layout};
        if (!edit.name)
            return no_memory(h, v->name);
        AS_TRY(as_edit_insert(h->env, h->g, *id, &edit, out));
        ++*id;
    }
    if (known)
        h->wide[value] = *out;
    return ASSAY_OK;
}

/* A new value in f32 for a result. */
static assay_status result_widen(halves *h, int value, int *out)
{
    as_bound_value made = {.name = as_arena_printf(h->g->arena, "%s in f32", h->g->values[value].name),
                           .role = AS_ROLE_COMPUTED,
                           .producer = -1,
                           .model_value = -1,
                           .info = {.dtype = AS_F32, .shape = h->g->values[value].info.shape}};
    *out = made.name ? as_graph_add_value(h->g, &made) : -1;
    return *out < 0 ? no_memory(h, h->g->values[value].name) : ASSAY_OK;
}

static assay_status node_widen(halves *h, int *id)
{
    int         in[AS_MAX_IN], out[AS_MAX_OUT], old[AS_MAX_OUT];
    as_node_ctx n = h->g->nodes[*id].ctx;
    bool        later = commutes(&n);
    for (int i = 0; i < n.n_in; i++) {
        in[i] = h->g->nodes[*id].in[i];
        if (in[i] >= 0 && is_half(n.in[i].dtype))
            AS_TRY(widen(h, id, in[i], later, &in[i]));
    }
    for (int i = 0; i < n.n_out; i++) {
        old[i] = out[i] = h->g->nodes[*id].out[i];
        if (is_half(n.out[i].dtype))
            AS_TRY(result_widen(h, old[i], &out[i]));
    }
    as_edit edit = {.op = n.op->name,
                    .in = in,
                    .n_in = n.n_in,
                    .attrs = n.attrs,
                    .n_attrs = n.n_attrs,
                    .out = out[0],
                    .more = out + 1,
                    .n_more = n.n_out - 1};
    AS_TRY(as_edit_replace(h->env, h->g, *id, &edit));
    for (int i = 0, at = *id; i < n.n_out; i++) {
        if (out[i] == old[i])
            continue;
        as_edit back = {.op = "Cast",
                        .name = as_arena_printf(h->g->arena, "%s to %s", h->g->values[old[i]].name, as_dtype_name(n.out[i].dtype)),
                        .module = n.module,
                        .in = &out[i],
                        .n_in = 1,
                        .attrs = &cast_to[n.out[i].dtype == AS_F16 ? 1 : 2],
                        .n_attrs = 1,
                        .out = old[i]};
        int     value;
        if (!back.name)
            return no_memory(h, n.name);
        AS_TRY(as_edit_insert(h->env, h->g, ++at, &back, &value));
        if (old[i] < h->n_values)
            h->exact[old[i]] = out[i];
        *id = at;
    }
    h->n_changed++;
    return ASSAY_OK;
}

/* All outputs of a node that this pass changes exist. */
static bool is_whole(const as_bound_node *node)
{
    for (int i = 0; i < node->ctx.n_out; i++)
        if (node->out[i] < 0)
            return false;
    return node->ctx.n_out > 0;
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    halves h = {.env = env, .g = g, .ctx = ctx, .n_values = g->n_values};
    if (as_edit_is_too_large(g, note))
        return ASSAY_OK;
    h.wide = AS_TAKE(g->arena, int, g->n_values + 1);
    h.exact = AS_TAKE(g->arena, int, g->n_values + 1);
    h.skipped = AS_TAKE(g->arena, bool, g->n_values + 1);
    if (!h.wide || !h.exact || !h.skipped)
        return no_memory(&h, "the network");
    for (int i = 0; i < g->n_values; i++)
        h.wide[i] = h.exact[i] = -1;
    for (int i = 0; i < g->n_nodes; i++) {
        const as_bound_node *node = &g->nodes[i];
        if (node->dead || !has_half(&node->ctx) || is_about_types(&node->ctx) || !is_whole(node) || is_taken(&h, &node->ctx) ||
            !would_gain(&h, &node->ctx))
            continue;
        AS_TRY(node_widen(&h, &i));
    }
    for (int i = 0; i < g->n_nodes; i++) /* what was rounded for readers that no longer want it so */
        if (as_edit_is(&g->nodes[i], "Cast") && g->nodes[i].out[0] < h.n_values && h.skipped[g->nodes[i].out[0]] &&
            !as_edit_readers(g, g->nodes[i].out[0]))
            g->nodes[i].dead = true;
    note->n_changed = h.n_changed;
    return ASSAY_OK;
}

const as_pass as_ps_half = {
    .name = "half", .order = 12, .help = "what has no kernel for f16 and bf16 is computed in f32, between conversions", .run = run};

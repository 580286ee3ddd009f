/* edit.c - how passes change a bound graph. */
#include "plan/edit.h"

#include <string.h>

bool as_edit_is_output(const as_graph *g, int value)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == value)
            return true;
    return false;
}

static int count(const as_graph *g, int value, int *last)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; !g->nodes[i].dead && k < g->nodes[i].ctx.n_in; k++)
            if (g->nodes[i].in[k] == value) {
                *last = i;
                n++;
            }
    return n;
}

int as_edit_readers(const as_graph *g, int value)
{
    int last;
    return count(g, value, &last) + as_edit_is_output(g, value);
}

int as_edit_only_reader(const as_graph *g, int value)
{
    int last = -1;
    return count(g, value, &last) == 1 && !as_edit_is_output(g, value) ? last : -1;
}

/* Passes ask about weights or values a few steps from one; in a hostile graph, searching further could take for ever. */
static bool is_steady(const as_graph *g, int value, int *left)
{
    const as_bound_value *v = &g->values[value];
    if (v->role == AS_ROLE_PARAM || v->role == AS_ROLE_CONSTANT)
        return true;
    if (v->role == AS_ROLE_INPUT || v->producer < 0 || --*left < 0)
        return false;
    const as_bound_node *node = &g->nodes[v->producer];
    for (int k = 0; k < node->ctx.n_in; k++)
        if (node->in[k] >= 0 && !is_steady(g, node->in[k], left))
            return false;
    return node->ctx.n_in > 0;
}

bool as_edit_is_steady(const as_graph *g, int value)
{
    int left = 32;
    return is_steady(g, value, &left);
}

bool as_edit_is_too_large(const as_graph *g, as_pass_note *note)
{
    if (g->n_nodes <= AS_EDIT_MAX_NODES)
        return false;
    const char *text = as_arena_printf(g->arena, "skipped: %d nodes are more than %d", g->n_nodes, AS_EDIT_MAX_NODES);
    if (text)
        note->text = text;
    return true;
}

/* How much of the part is already in the name: up to the last module that both share. */
static size_t shared_bytes(const char *name, const char *part)
{
    size_t shared = 0;
    for (size_t i = 0; part[i] && (!i || part[i - 1] == name[i - 1]); i++) {
        bool ends = part[i] == '.' || (part[i] == ' ' && part[i + 1] == '(');
        if (i && ends && (!name[i] || strchr(".+ ", name[i])))
            shared = part[i] == '.' ? i + 1 : i + 2;
    }
    return shared;
}

const char *as_edit_name_join(as_arena *arena, const char *name, const char *part)
{
    enum { MAX_TEXT = 96 };
    static const char more[] = "+…";
    size_t            length = strlen(name), shared = shared_bytes(name, part), n = strlen(part + shared);
    if (length + n > MAX_TEXT) {
        bool says_so = length >= sizeof more - 1 && !strcmp(name + length - (sizeof more - 1), more);
        return says_so ? name : as_arena_printf(arena, "%s%s", name, more);
    }
    if (shared && part[shared - 1] == '(' && n && part[shared + n - 1] == ')')
        n--;
    return as_arena_printf(arena, "%s+%.*s", name, (int)n, part + shared);
}

static assay_status no_memory(assay_env *env, const char *name)
{
    return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to change node '%s'", name ? name : "");
}

/* The whole context except the layout of its outputs. */
assay_status as_edit_try(assay_env *env, const as_graph *g, const as_edit *edit, as_node_ctx *out)
{
    const as_op    *op = as_op_find(edit->op);
    as_tensor_info *in = AS_TAKE(g->arena, as_tensor_info, edit->n_in + 1), *y = AS_TAKE(g->arena, as_tensor_info, AS_MAX_OUT);
    as_attr        *attrs = AS_TAKE(g->arena, as_attr, edit->n_attrs + 1);
    if (!op)
        return as_fail(env, ASSAY_INTERNAL, "plan: a pass asks for the operator '%s', which does not exist", edit->op);
    if (!in || !y || !attrs)
        return no_memory(env, edit->name);
    as_node_ctx n = {.op = op,
                     .name = edit->name ? edit->name : op->name,
                     .module = edit->module,
                     .attrs = attrs,
                     .n_attrs = edit->n_attrs,
                     .in = in,
                     .n_in = edit->n_in,
                     .n_out = 1 + edit->n_more};
    if (edit->n_attrs)
        memcpy(attrs, edit->attrs, (size_t)edit->n_attrs * sizeof *attrs);
    for (int i = 0; i < edit->n_in; i++)
        if (edit->in[i] >= 0)
            in[i] = g->values[edit->in[i]].info;
    while (n.n_in > 0 && n.in[n.n_in - 1].dtype == AS_NONE)
        n.n_in--;
    AS_TRY(as_op_infer(env, &n, y));
    y->layout = edit->out >= 0 ? g->values[edit->out].info.layout : edit->layout;
    for (int i = 0; i < edit->n_more; i++)
        y[1 + i].layout = g->values[edit->more[i]].info.layout;
    n.out = y;
    *out = n;
    return ASSAY_OK;
}

/* An output that exists keeps its shape and dtype. */
static assay_status output_check(assay_env *env, const as_graph *g, const as_edit *edit, const char *name, int value,
                                 const as_tensor_info *now)
{
    const as_tensor_info *was = &g->values[value].info;
    if (was->dtype == now->dtype && as_shape_same(&was->shape, &now->shape))
        return ASSAY_OK;
    return as_fail(env, ASSAY_INTERNAL, "plan: %s '%s' gives %s %s instead of %s %s", edit->op, name, as_dtype_name(now->dtype),
                   as_shape_show(&now->shape, (char[192]){0}, 192), as_dtype_name(was->dtype),
                   as_shape_show(&was->shape, (char[192]){0}, 192));
}

/* The node that the edit describes; its output value exists or is made. */
static assay_status node_make(assay_env *env, as_graph *g, const as_edit *edit, as_bound_node *out)
{
    as_bound_node node = {.in = AS_TAKE(g->arena, int, edit->n_in + 1), .out = AS_TAKE(g->arena, int, 1 + edit->n_more)};
    as_edit       named = *edit;
    if (!node.in || !node.out)
        return no_memory(env, edit->name);
    if (!named.name)
        named.name = as_arena_printf(g->arena, "%s_%d", edit->op, g->n_nodes);
    AS_TRY(as_edit_try(env, g, &named, &node.ctx));
    if (edit->out >= 0)
        AS_TRY(output_check(env, g, edit, named.name, edit->out, &node.ctx.out[0]));
    for (int i = 0; i < edit->n_more; i++)
        AS_TRY(output_check(env, g, edit, named.name, edit->more[i], &node.ctx.out[1 + i]));
    if (edit->n_in)
        memcpy(node.in, edit->in, (size_t)edit->n_in * sizeof *node.in);
    node.out[0] = edit->out;
    for (int i = 0; i < edit->n_more; i++)
        node.out[1 + i] = edit->more[i];
    if (edit->out < 0) {
        as_bound_value value = {
            .name = named.name, .role = AS_ROLE_COMPUTED, .info = node.ctx.out[0], .producer = -1, .model_value = -1};
        node.out[0] = as_graph_add_value(g, &value);
        if (node.out[0] < 0)
            return no_memory(env, named.name);
    }
    *out = node;
    return ASSAY_OK;
}

assay_status as_edit_replace(assay_env *env, as_graph *g, int id, const as_edit *edit)
{
    as_bound_node node;
    as_edit       named = *edit;
    if (!named.name)
        named.name = g->nodes[id].ctx.name;
    if (!named.module)
        named.module = g->nodes[id].ctx.module;
    AS_TRY(node_make(env, g, &named, &node));
    node.ctx.seed = g->nodes[id].ctx.seed;
    node.ctx.node_id = g->nodes[id].ctx.node_id;
    node.ctx.place = g->nodes[id].ctx.place;
    g->nodes[id] = node;
    for (int i = 0; i < node.ctx.n_out; i++)
        g->values[node.out[i]].producer = id;
    return ASSAY_OK;
}

assay_status as_edit_insert(assay_env *env, as_graph *g, int before, const as_edit *edit, int *value)
{
    as_bound_node node;
    AS_TRY(node_make(env, g, edit, &node));
    if (g->n_nodes == g->cap_nodes) {
        int            cap = g->cap_nodes ? g->cap_nodes * 2 : 16;
        as_bound_node *moved = AS_TAKE(g->arena, as_bound_node, cap);
        if (!moved)
            return no_memory(env, node.ctx.name);
        if (g->n_nodes)
            memcpy(moved, g->nodes, (size_t)g->n_nodes * sizeof *moved);
        g->nodes = moved;
        g->cap_nodes = cap;
    }
    memmove(&g->nodes[before + 1], &g->nodes[before], (size_t)(g->n_nodes - before) * sizeof *g->nodes);
    for (int i = 0; i < g->n_values; i++)
        if (g->values[i].producer >= before)
            g->values[i].producer++;
    if (g->n_nodes) /* it serves the node that it stands before */
        node.ctx.place = g->nodes[before < g->n_nodes ? before : g->n_nodes - 1].ctx.place;
    node.ctx.node_id = UINT32_MAX - (uint32_t)g->n_nodes; /* belongs to no random stream */
    g->nodes[before] = node;
    g->n_nodes++;
    g->values[node.out[0]].producer = before;
    *value = node.out[0];
    return ASSAY_OK;
}

void as_edit_rewire(as_graph *g, int from, int to)
{
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; !g->nodes[i].dead && k < g->nodes[i].ctx.n_in; k++)
            if (g->nodes[i].in[k] == from) {
                g->nodes[i].in[k] = to;
                as_edit_refresh(g, i);
            }
}

/* Only the graph that owns a context may change its infos. */
void as_edit_refresh(as_graph *g, int id)
{
    as_bound_node  *node = &g->nodes[id];
    as_tensor_info *in = (as_tensor_info *)(uintptr_t)node->ctx.in, *out = (as_tensor_info *)(uintptr_t)node->ctx.out;
    for (int k = 0; k < node->ctx.n_in; k++)
        if (node->in[k] >= 0)
            in[k] = g->values[node->in[k]].info;
    for (int k = 0; k < node->ctx.n_out; k++)
        if (node->out[k] >= 0)
            out[k] = g->values[node->out[k]].info;
}

bool as_edit_is_taken(assay_env *env, const as_pass_ctx *ctx, as_arena *arena, const as_node_ctx *n)
{
    as_choice choice = {0};
    return ctx->device->backend->choose(env, ctx->device, n, arena, &choice) == ASSAY_OK && choice.kernel && !choice.slow;
}

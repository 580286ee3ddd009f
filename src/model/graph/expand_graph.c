/* expand_graph.c - replaces the composites of a bound graph by primitives: those that are defined that way always, the others for
 * plans that fuse nothing. */
#include <ctype.h>
#include <string.h>

#include "model/graph/bind.h"
#include "model/graph/maker.h"

enum { MAX_ROUNDS = 4 };

/* The builder that expansion rules see; `base` comes first, so that a pointer to it is a pointer to this. */
typedef struct writer {
    as_builder   base;
    as_binder   *b;
    const char  *around; /* the composite, for names */
    int          n_around;
    assay_status failure; /* the first failure; its message is in the env */
} writer;

static const as_tensor_info *info(as_builder *base, int value)
{
    static const as_tensor_info nothing = {0};
    return value < 0 ? &nothing : &((writer *)base)->b->g->values[value].info;
}

static int failed(writer *w, assay_status status)
{
    if (w->failure == ASSAY_OK)
        w->failure = status;
    return -1;
}

static int no_memory(writer *w)
{
    return failed(w, as_fail(w->base.env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the primitives of node '%s'",
                             w->b->model->name, w->around));
}

/* "cfc/gemm_12" */
static const char *name_next(writer *w, const char *what)
{
    char *name = as_arena_printf(w->b->g->arena, "%s/%s_%d", w->around, what, ++w->n_around);
    for (char *c = name ? strrchr(name, '/') : NULL; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
}

static int constant(as_builder *base, const as_view *view)
{
    writer *w = (writer *)base;
    size_t  count = (size_t)as_shape_count(&view->shape);
    void   *data = as_arena_take(w->b->g->arena, count, as_dtype_bytes(view->dtype), 64);
    if (w->failure != ASSAY_OK)
        return -1;
    if (!data)
        return no_memory(w);
    as_view copy = as_view_of(data, view->dtype, &view->shape);
    as_view_copy(&copy, view);
    as_bound_value made = {.name = name_next(w, "constant"),
                           .role = AS_ROLE_CONSTANT,
                           .data = data,
                           .producer = -1,
                           .model_value = -1,
                           .info = {.dtype = view->dtype, .shape = view->shape, .constant = data}};
    int            id = as_bind_value(w->b, &made);
    return id < 0 ? failed(w, ASSAY_NO_MEMORY) : id;
}

/* Attributes are copied, because rules keep them on the stack. */
static const as_attr *attrs_copy(writer *w, const as_attr *attrs, int n)
{
    as_arena *arena = w->b->g->arena;
    as_attr  *copies = AS_TAKE(arena, as_attr, n);
    bool      ok = copies != NULL;
    for (int i = 0; ok && i < n; i++) {
        as_attr *a = &copies[i];
        *a = attrs[i];
        ok = (a->name = as_arena_text(arena, attrs[i].name)) != NULL && a->kind != AS_ATTR_TENSOR;
        if (ok && a->kind == AS_ATTR_TEXTS && a->n) {
            const char **texts = AS_TAKE(arena, const char *, a->n);
            ok = (a->texts = texts) != NULL;
            for (size_t k = 0; ok && k < a->n; k++)
                ok = (texts[k] = as_arena_text(arena, attrs[i].texts[k])) != NULL;
        }
        if (ok && a->kind == AS_ATTR_TEXT)
            ok = (a->text = as_arena_text(arena, attrs[i].text)) != NULL;
        if (ok && a->kind == AS_ATTR_INTS && a->n) {
            int64_t *ints = AS_TAKE(arena, int64_t, a->n);
            ok = (a->ints = ints) && memcpy(ints, attrs[i].ints, a->n * sizeof *ints);
        }
        if (ok && a->kind == AS_ATTR_FLOATS && a->n) {
            double *floats = AS_TAKE(arena, double, a->n);
            ok = (a->floats = floats) && memcpy(floats, attrs[i].floats, a->n * sizeof *floats);
        }
    }
    return ok ? copies : NULL;
}

static int node(as_builder *base, const char *op_name, const int *in, int n_in, const as_attr *attrs, int n_attrs, int *outs,
                int n_out)
{
    writer      *w = (writer *)base;
    const as_op *op = as_op_find(op_name);
    int          ids[AS_MAX_OUT];
    if (w->failure != ASSAY_OK)
        return -1;
    const as_attr *copies = attrs_copy(w, attrs, n_attrs);
    const char    *name = name_next(w, op_name);
    if (!copies || !name)
        return no_memory(w);
    if (!op || n_in > AS_MAX_IN || n_out > AS_MAX_OUT)
        return failed(w, as_fail(base->env, ASSAY_INTERNAL,
                                 "model: %s: the primitives of node '%s' ask for %s with %d inputs and %d outputs",
                                 w->b->model->name, w->around, op_name, n_in, n_out));
    while (n_in > 0 && in[n_in - 1] < 0)
        n_in--;
    for (int i = 0; i < n_out; i++) {
        as_bound_value made = {.name = i ? as_arena_printf(w->b->g->arena, "%s:%d", name, i) : name,
                               .role = AS_ROLE_COMPUTED,
                               .producer = -1,
                               .model_value = -1};
        if ((ids[i] = as_bind_value(w->b, &made)) < 0)
            return failed(w, ASSAY_NO_MEMORY);
    }
    assay_status status = as_bind_op(w->b, op, name, copies, n_attrs, in, n_in, ids, n_out);
    if (status != ASSAY_OK)
        return failed(w, status);
    if (outs)
        memcpy(outs, ids, (size_t)n_out * sizeof *outs);
    return ids[0];
}

/* An unchanged node, at its new place. */
static assay_status node_keep(as_binder *b, const as_bound_node *from)
{
    as_graph *g = b->g;
    if (!as_bind_nodes_grow(g))
        return as_fail(b->env, ASSAY_NO_MEMORY, "model: %s: not enough memory for its nodes", b->model->name);
    for (int i = 0; i < from->ctx.n_out && !from->dead; i++)
        g->values[from->out[i]].producer = g->n_nodes;
    g->nodes[g->n_nodes++] = *from;
    return ASSAY_OK;
}

static assay_status composite_write(as_binder *b, const as_bound_node *from)
{
    writer w = {.base = {.node = node, .constant = constant, .info = info, .env = b->env}, .b = b, .around = from->ctx.name};
    int    out[AS_MAX_OUT], before = b->g->n_nodes;
    b->place = from->ctx.place;
    b->module = from->ctx.module && *from->ctx.module ? from->ctx.module : from->ctx.name;
    assay_status status = from->ctx.op->expand(&w.base, &from->ctx, from->in, out);
    if (status == ASSAY_UNSUPPORTED && b->g->n_nodes == before && w.failure == ASSAY_OK)
        return node_keep(b, from); /* would be too many nodes: stays as it is */
    if (w.failure != ASSAY_OK || status != ASSAY_OK)
        return w.failure != ASSAY_OK ? w.failure : status;
    for (int i = 0; i < from->ctx.n_out; i++) {
        const char *name = name_next(&w, "identity");
        if (!name)
            return as_fail(b->env, ASSAY_NO_MEMORY, "model: %s: not enough memory for its nodes", b->model->name);
        AS_TRY(as_bind_op(b, as_op_find("Identity"), name, NULL, 0, &out[i], 1, &from->out[i], 1));
    }
    return ASSAY_OK;
}

static bool is_written_out(const as_bound_node *node, bool all)
{
    return !node->dead && node->ctx.op->expand && (all || node->ctx.op->composed);
}

/* One round; *any says whether there was a composite. */
static assay_status round_expand(assay_env *env, const assay_model *model, uint64_t seed, bool all, as_graph *g, bool *found)
{
    as_bound_node *old = g->nodes;
    int            n_old = g->n_nodes;
    bool           any = false;
    as_binder      b = {.env = env, .model = model, .g = g, .seed = seed};
    for (int i = 0; i < n_old; i++)
        any |= is_written_out(&old[i], all);
    *found = any;
    if (!any)
        return ASSAY_OK;
    b.is_output = AS_TAKE(g->arena, bool, model->n_values);
    if (!b.is_output)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for its nodes", model->name);
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] < model->n_values)
            b.is_output[g->outputs[i]] = true;
    g->nodes = NULL;
    g->n_nodes = g->cap_nodes = 0;
    for (int i = 0; i < n_old; i++)
        AS_TRY(is_written_out(&old[i], all) ? composite_write(&b, &old[i]) : node_keep(&b, &old[i]));
    return ASSAY_OK;
}

/* A part may be composed itself: SwiGLU of a Swish. */
assay_status as_graph_expand(assay_env *env, const assay_model *model, uint64_t seed, bool all, as_graph *g)
{
    bool any = true;
    for (int round = 0; any && round < MAX_ROUNDS; round++)
        AS_TRY(round_expand(env, model, seed, all && round == 0, g, &any));
    return ASSAY_OK;
}

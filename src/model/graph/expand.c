/* expand.c - replaces the composite operators of a model by primitives, for formats and devices that do not have them.
 *
 * Everything else is copied unchanged.  Unbound symbols stay symbols: rules never write a batch size into a node. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph/maker.h"

enum { MAX_SYMBOLS = 16, STAND_IN = 3 };

/* The builder that expansion rules see; `base` comes first, so that a pointer to it is a pointer to this. */
typedef struct expansion {
    as_builder      base;
    as_maker       *m;
    as_tensor_info *infos; /* one per value of the maker */
    int             cap_infos;
    const char     *around; /* the composite being expanded, for names */
    int             n_around;
} expansion;

static bool info_add(expansion *e, int value, const as_tensor_info *info)
{
    if (value < 0)
        return false;
    if (value >= e->cap_infos) {
        int cap = e->cap_infos ? e->cap_infos * 2 : 64;
        while (cap <= value)
            cap *= 2;
        as_tensor_info *moved = realloc(e->infos, (size_t)cap * sizeof *moved);
        if (!moved) {
            as_maker_fail_as(e->m, ASSAY_NO_MEMORY, "not enough memory for the shapes of its primitives");
            return false;
        }
        e->infos = moved;
        e->cap_infos = cap;
    }
    e->infos[value] = *info;
    return true;
}

/* --- What a rule may do ------------------------------------------------------------------------- */

static const as_tensor_info *info(as_builder *base, int value) { return &((expansion *)base)->infos[value]; }

static int constant(as_builder *base, const as_view *view)
{
    expansion     *e = (expansion *)base;
    int            id = as_maker_constant(e->m, NULL, view);
    as_tensor_info known = {.dtype = view->dtype, .shape = view->shape};
    if (id >= 0)
        known.constant = as_maker_value(e->m, id)->data;
    return info_add(e, id, &known) ? id : -1;
}

static int node(as_builder *base, const char *op_name, const int *in, int n_in, const as_attr *attrs, int n_attrs, int *outs,
                int n_out)
{
    expansion     *e = (expansion *)base;
    as_tensor_info in_infos[AS_MAX_IN] = {0}, out_infos[AS_MAX_OUT] = {0};
    int            ids[AS_MAX_OUT];
    const as_op   *op = as_op_find(op_name);
    char           name[AS_MAX_NAME_BYTES + 128]; /* the maker refuses it if it is too long */
    if (as_maker_failed(e->m))
        return -1;
    snprintf(name, sizeof name, "%s/%s_%d", e->around, op_name, ++e->n_around);
    for (char *c = strrchr(name, '/'); c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!op || n_in > AS_MAX_IN || n_out > AS_MAX_OUT) {
        as_maker_fail_as(e->m, ASSAY_INTERNAL, "the primitives of node '%s' ask for %s with %d inputs and %d outputs", e->around,
                         op_name, n_in, n_out);
        return -1;
    }
    while (n_in > 0 && in[n_in - 1] < 0)
        n_in--;
    for (int i = 0; i < n_in; i++)
        if (in[i] >= 0)
            in_infos[i] = e->infos[in[i]];
    as_node_ctx  ctx = {.op = op, .name = name, .attrs = attrs, .n_attrs = n_attrs, .in = in_infos, .n_in = n_in, .n_out = n_out};
    assay_status status = as_op_infer(e->base.env, &ctx, out_infos);
    if (status != ASSAY_OK) {
        as_maker_fail_as(e->m, status, "the primitives of node '%s': %s", e->around, assay_message(e->base.env));
        return -1;
    }
    if (as_maker_node(e->m, op_name, name, in, n_in, attrs, n_attrs, ids, n_out, NULL) < 0)
        return -1;
    for (int i = 0; i < n_out; i++)
        if (!info_add(e, ids[i], &out_infos[i]))
            return -1;
    if (outs)
        memcpy(outs, ids, (size_t)n_out * sizeof *outs);
    return ids[0];
}

/* --- The model, node by node ---------------------------------------------------------------------- */

static void values_copy(expansion *e, const assay_model *model, const as_graph *g, const as_binding_dim *dims, int n_dims, int *ids)
{
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        as_dims         bound = v->dims;
        ids[i] = -1;
        if (v->role == AS_ROLE_COMPUTED)
            continue;
        for (int k = 0; k < bound.rank; k++)
            for (int d = 0; d < n_dims && bound.dim[k].symbol; d++)
                if (!strcmp(bound.dim[k].symbol, dims[d].symbol))
                    bound.dim[k] = (as_dim){.size = dims[d].size};
        if (v->role == AS_ROLE_INPUT)
            ids[i] = as_maker_input(e->m, v->name, v->dtype, &bound);
        else if (v->role == AS_ROLE_PARAM)
            ids[i] = as_maker_param(e->m, v->name, v->dtype, &g->values[i].info.shape, v->data, false);
        else
            ids[i] = as_maker_constant_borrow(e->m, v->name, v->dtype, &g->values[i].info.shape, v->data);
        info_add(e, ids[i], &g->values[i].info);
    }
}

/* A result of primitives gets the name that the composite's output had. */
static int result_name(expansion *e, int id, const char *name)
{
    if (id < 0 || as_maker_failed(e->m))
        return -1;
    char label[AS_MAX_NAME_BYTES + 64];
    snprintf(label, sizeof label, "%s/result_%s", e->around, name);
    as_tensor_info known = e->infos[id];
    int            copy = as_maker_node(e->m, "Identity", label, &id, 1, NULL, 0, NULL, 1, &name);
    return info_add(e, copy, &known) ? copy : -1;
}

static void composite_write(expansion *e, const assay_model *model, const as_graph *g, const as_node *from, int *ids)
{
    as_tensor_info in_infos[AS_MAX_IN] = {0}, out_infos[AS_MAX_OUT] = {0};
    int            in[AS_MAX_IN], out[AS_MAX_OUT];
    for (int i = 0; i < from->n_in; i++) {
        in[i] = from->in[i] < 0 ? -1 : ids[from->in[i]];
        if (from->in[i] >= 0)
            in_infos[i] = g->values[from->in[i]].info;
    }
    for (int i = 0; i < from->n_out; i++) {
        out_infos[i] = g->values[from->out[i]].info;
        out[i] = -1;
    }
    as_node_ctx ctx = {.op = from->op,
                       .name = from->name,
                       .attrs = from->attrs,
                       .n_attrs = from->n_attrs,
                       .in = in_infos,
                       .n_in = from->n_in,
                       .out = out_infos,
                       .n_out = from->n_out};
    e->around = from->name;
    e->n_around = 0;
    as_maker_module(e->m, *from->module ? from->module : from->name);
    as_maker_place(e->m, &from->place);
    assay_status status = from->op->expand(&e->base, &ctx, in, out);
    if (status != ASSAY_OK) {
        as_maker_fail_as(e->m, status, "%s", assay_message(e->base.env));
        return;
    }
    for (int i = 0; i < from->n_out && !as_maker_failed(e->m); i++)
        ids[from->out[i]] = result_name(e, out[i], model->values[from->out[i]].name);
}

static void node_copy(expansion *e, const assay_model *model, const as_graph *g, const as_node *from, int *ids)
{
    int         in[AS_MAX_IN], out[AS_MAX_OUT];
    const char *names[AS_MAX_OUT];
    for (int i = 0; i < from->n_in; i++)
        in[i] = from->in[i] < 0 ? -1 : ids[from->in[i]];
    for (int i = 0; i < from->n_out; i++)
        names[i] = model->values[from->out[i]].name;
    as_maker_module(e->m, from->module);
    as_maker_place(e->m, &from->place);
    if (as_maker_node(e->m, from->op->name, from->name, in, from->n_in, from->attrs, from->n_attrs, out, from->n_out, names) < 0)
        return;
    for (int i = 0; i < from->n_out; i++) {
        ids[from->out[i]] = out[i];
        info_add(e, out[i], &g->values[from->out[i]].info);
    }
}

/* Texts and attributes stay those of `model`. */
static bool cells_note(const assay_model *model, assay_model *out)
{
    out->cells = AS_TAKE(&out->arena, as_model_cell, model->n_nodes);
    for (int i = 0; out->cells && i < model->n_nodes; i++) {
        const as_node *n = &model->nodes[i];
        if (!n->op->expand)
            continue;
        const char **in = AS_TAKE(&out->arena, const char *, n->n_in), **names = AS_TAKE(&out->arena, const char *, n->n_out);
        if (!in || !names)
            return false;
        for (int k = 0; k < n->n_in; k++)
            in[k] = n->in[k] < 0 ? "" : model->values[n->in[k]].name;
        for (int k = 0; k < n->n_out; k++)
            names[k] = n->out[k] < 0 ? "" : model->values[n->out[k]].name;
        out->cells[out->n_cells++] = (as_model_cell){.op = n->op->name,
                                                     .name = n->name,
                                                     .module = n->module,
                                                     .in = in,
                                                     .n_in = n->n_in,
                                                     .out = names,
                                                     .n_out = n->n_out,
                                                     .attrs = n->attrs,
                                                     .n_attrs = n->n_attrs};
    }
    return out->cells != NULL;
}

/* All symbols: the given sizes, and placeholders for the others. */
static assay_status dims_fill(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, as_binding_dim *all,
                              int *n_all)
{
    int n = n_dims;
    if (n_dims > MAX_SYMBOLS)
        return as_fail(env, ASSAY_UNSUPPORTED, "model: %s: %d dimensions are set; at most %d are possible", model->name, n_dims,
                       MAX_SYMBOLS);
    if (n_dims)
        memcpy(all, dims, (size_t)n_dims * sizeof *all);
    for (int i = 0; i < model->n_inputs; i++) {
        const as_dims *d = &model->values[model->inputs[i]].dims;
        for (int k = 0; k < d->rank; k++) {
            int at = 0;
            while (d->dim[k].symbol && at < n && strcmp(all[at].symbol, d->dim[k].symbol))
                at++;
            if (!d->dim[k].symbol || at < n)
                continue;
            if (n == MAX_SYMBOLS)
                return as_fail(env, ASSAY_UNSUPPORTED, "model: %s: it has more than %d dimensions with names", model->name,
                               MAX_SYMBOLS);
            all[n++] = (as_binding_dim){d->dim[k].symbol, STAND_IN};
        }
    }
    *n_all = n;
    return ASSAY_OK;
}

/* A composed operator is one of the formats' own: files keep it. */
static bool is_foreign(const as_op *op) { return op->expand && !op->composed; }

bool as_model_has_composites(const assay_model *model)
{
    bool has = false;
    for (int i = 0; i < model->n_nodes; i++)
        has |= is_foreign(model->nodes[i].op);
    return has;
}

assay_status as_model_expand(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, assay_model **out)
{
    as_arena       arena = {0};
    as_graph       g;
    as_binding_dim all[MAX_SYMBOLS];
    int            n_all = 0;
    expansion      e = {.base = {.node = node, .constant = constant, .info = info, .env = env}, .around = ""};
    assay_status   status = ASSAY_OK;
    for (int i = 0; i < model->n_nodes; i++)
        if (model->nodes[i].n_bodies)
            return as_fail(env, ASSAY_UNSUPPORTED, "model: %s: '%s' has subgraphs, and those are not written as primitives",
                           model->name, model->nodes[i].name);
    AS_TRY(dims_fill(env, model, dims, n_dims, all, &n_all));
    AS_TRY_OR(done, as_graph_bind(env, model, all, n_all, NULL, 0, 0, &arena, &g));
    int *ids = AS_TAKE(&arena, int, model->n_values);
    if (!ids) {
        status = as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for %d values", model->name, model->n_values);
        goto done;
    }
    AS_TRY_OR(done, as_maker_new(env, model->name, 0, &e.m));
    as_maker_name(e.m, model->own_name);
    values_copy(&e, model, &g, dims, n_dims, ids);
    for (int i = 0; i < model->n_nodes && !as_maker_failed(e.m); i++)
        (is_foreign(model->nodes[i].op) ? composite_write : node_copy)(&e, model, &g, &model->nodes[i], ids);
    for (int i = 0; i < model->n_outputs && !as_maker_failed(e.m); i++)
        as_maker_output(e.m, ids[model->outputs[i]]);
    as_maker_prune(e.m); /* for example a state that nothing reads */
    assay_model *made;
    AS_TRY_OR(done, as_maker_finish(e.m, &made));
    if (!cells_note(model, made)) {
        assay_model_free(made);
        status = as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the names of its composites", model->name);
        goto done;
    }
    *out = made;
done:
    free(e.infos);
    as_arena_drop(&arena);
    return status;
}

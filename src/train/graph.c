/* graph.c - one training step as a graph, made in three stages.
 *
 * First the network with its loss: batch norm and dropout in training mode, every trained parameter a part of the flat block.  Then
 * the backward pass, from each operator's own rule.  Last the flat gradient, its norm and the optimiser. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/optimizer.h"
#include "train/precision.h"
#include "train/recompute.h"

enum { BLOCK_GRAIN = 16 /* elements: parts begin at whole cache lines */, MAX_GROUPS = 64, JOIN_AT_ONCE = 60 };

/* The inner models that a graph is made of; each lends data to the next. */
typedef struct builder {
    assay_env            *env;
    const assay_model    *net;
    const as_train_setup *setup;
    as_train_graph       *t;
    as_arena              arena; /* of the bound network */
    as_graph              g;
    as_optimizer          optimizer;
    as_group             *groups;    /* those that were asked for; one more group has the other parameters */
    bool                 *is_kept;   /* per value of the bound network: a running statistic */
    int                  *part;      /* per value of the bound network: its part, -1 none */
    bool                 *no_slope;  /* per value: the loss does not depend on it */
    int                   y, scores; /* the output that the loss judges, and the value that the loss reads */
} builder;

static assay_status no_memory(builder *b)
{
    return as_fail(b->env, ASSAY_NO_MEMORY, "train: not enough memory for the training graph of %s", b->net->name);
}

static bool is_op(const as_bound_node *n, const char *op) { return !n->dead && !strcmp(n->ctx.op->name, op); }

/* --- What is trained ------------------------------------------------------------------------------------------ */

/* Which inputs of an operator are weights, as bits.  Of an Add one side is a bias. */
static const struct {
    const char *op;
    unsigned    inputs;
} weight_places[] = {
    {"Conv", 6},
    {"ConvTranspose", 6},
    {"Gemm", 6},
    {"MatMul", 3},
    {"Add", 3},
    {"BatchNormalization", 30},
    {"PRelu", 2},
    {"InstanceNormalization", 6},
    {"LayerNormalization", 6},
    {"LSTM", 14},
    {"GroupNormalization", 6},
    {"RMSNormalization", 2},
    {"GRU", 14},
    {"RNN", 14},
    {"Gather", 1},
};

static unsigned places_of(const char *op)
{
    for (size_t i = 0; i < AS_COUNT(weight_places); i++)
        if (!strcmp(weight_places[i].op, op))
            return weight_places[i].inputs;
    return 0;
}

/* Files do not say which constants are weights; those of few elements are taken for constants, because shapes may depend on them.
 * Here a constant of floats that is read at the places of weights only is one.  A single number is not. */
static assay_status weights_know(builder *b, const assay_model *model)
{
    assay_model *net = &b->t->net;
    bool        *is_read = AS_TAKE(&b->t->arena, bool, model->n_values), *is_other = AS_TAKE(&b->t->arena, bool, model->n_values);
    *net = *model;
    net->values = AS_TAKE(&b->t->arena, as_value, model->n_values);
    if (!is_read || !is_other || !net->values)
        return no_memory(b);
    memcpy(net->values, model->values, (size_t)model->n_values * sizeof *net->values);
    for (int i = 0; i < net->n_nodes; i++) {
        const as_node *n = &net->nodes[i];
        unsigned       places = n->n_bodies ? 0 : places_of(n->op->name);
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0)
                (k < 32 && (places >> k & 1u) ? is_read : is_other)[n->in[k]] = true;
    }
    for (int i = 0; i < net->n_outputs; i++)
        is_other[net->outputs[i]] = true;
    for (int i = 0; i < net->n_values; i++) {
        as_value *v = &net->values[i];
        as_shape  shape = as_shape_of_dims(&v->dims);
        if (v->role == AS_ROLE_CONSTANT && v->dtype == AS_F32 && is_read[i] && !is_other[i] && shape.rank > 0 &&
            as_shape_count(&shape) > 1)
            v->role = AS_ROLE_PARAM;
    }
    return ASSAY_OK;
}

/* Means and variances of batch norms move with the batches, not down the gradient. */
static void statistics_mark(builder *b)
{
    for (int i = 0; i < b->g.n_nodes; i++)
        for (int k = 3; k < 5 && is_op(&b->g.nodes[i], "BatchNormalization"); k++)
            b->is_kept[b->g.nodes[i].in[k]] = true;
}

static bool is_frozen(const builder *b, const char *name)
{
    for (size_t i = 0; i < b->setup->freeze.n; i++)
        if (as_name_fits(b->setup->freeze.items[i], name))
            return true;
    return false;
}

static bool may_learn(const builder *b, int value)
{
    const as_bound_value *v = &b->g.values[value];
    return v->role == AS_ROLE_PARAM && v->info.dtype == AS_F32 && !b->is_kept[value] && !b->no_slope[value] &&
           !is_frozen(b, v->name) && as_shape_count(&v->info.shape) > 0;
}

/* A pattern that matches nothing is a typing error. */
static assay_status freeze_check(builder *b)
{
    for (size_t i = 0; i < b->setup->freeze.n; i++) {
        bool any = false;
        for (int v = 0; v < b->g.n_values && !any; v++)
            any = b->g.values[v].role == AS_ROLE_PARAM && as_name_fits(b->setup->freeze.items[i], b->g.values[v].name);
        if (!any)
            return as_fail(b->env, ASSAY_BAD_INPUT, "train: no parameter of %s is named like '%s', which --freeze names",
                           b->net->name, b->setup->freeze.items[i]);
    }
    return ASSAY_OK;
}

/* The first group whose pattern fits, or the last, which has all others. */
static int group_of(const builder *b, const char *name)
{
    int i = 0;
    while (i < b->t->n_groups - 1 && !as_group_fits(&b->groups[i], name))
        i++;
    return i;
}

static const as_group *group_at(const builder *b, int i) { return i < b->t->n_groups - 1 ? &b->groups[i] : NULL; }

static assay_status groups_check(builder *b)
{
    for (int i = 0; i + 1 < b->t->n_groups; i++) {
        bool any = false;
        for (int k = 0; k < b->t->n_parts && !any; k++)
            any = b->t->parts[k].group == i;
        if (!any)
            return as_fail(b->env, ASSAY_BAD_INPUT, "train: no parameter of %s that learns is in the group '%s'", b->net->name,
                           b->setup->groups.items[i]);
    }
    return ASSAY_OK;
}

/* Parameters in the order of their groups, and in each in the order of the model: a group is one stretch of the block. */
static assay_status parts_find(builder *b)
{
    as_train_graph *t = b->t;
    int             n = 0;
    for (int v = 0; v < b->g.n_values; v++)
        n += may_learn(b, v);
    if (!n)
        return as_fail(b->env, ASSAY_BAD_INPUT, "train: %s has no parameter that could learn%s", b->net->name,
                       b->setup->freeze.n ? "; --freeze leaves none" : "");
    t->parts = AS_TAKE(&t->arena, as_train_part, n);
    t->starts = AS_TAKE(&t->arena, int64_t, t->n_groups);
    if (!t->parts || !t->starts)
        return no_memory(b);
    t->n_parts = 0;
    t->n_elements = t->n_trained = 0;
    for (int group = 0; group < t->n_groups; group++) {
        t->starts[group] = t->n_elements;
        for (int v = 0; v < b->g.n_values; v++) {
            const as_bound_value *value = &b->g.values[v];
            if (!may_learn(b, v) || group_of(b, value->name) != group)
                continue;
            int64_t count = as_shape_count(&value->info.shape);
            b->part[v] = t->n_parts;
            t->parts[t->n_parts++] = (as_train_part){.name = as_arena_text(&t->arena, value->name),
                                                     .shape = value->info.shape,
                                                     .begin = t->n_elements,
                                                     .count = count,
                                                     .group = group,
                                                     .data = value->data};
            t->n_trained += count;
            t->n_elements += (count + BLOCK_GRAIN - 1) / BLOCK_GRAIN * BLOCK_GRAIN;
        }
    }
    return groups_check(b);
}

/* --- The network with its loss --------------------------------------------------------------------------------- */

typedef struct loss_kind {
    const char *name, *op, *inverse; /* inverse: the last operator that the loss already contains */
    bool        labels;
} loss_kind;
static const loss_kind losses[] = {
    {"ce", "SoftmaxCrossEntropyLoss", "Softmax", true},
    {"bce", "assay.BceWithLogitsLoss", "Sigmoid", false},
    {"mse", "assay.MseLoss", NULL, false},
    {"mae", "assay.MaeLoss", NULL, false},
    {"huber", "assay.HuberLoss", NULL, false},
};

/* The first float output that is not a state: what the loss judges. */
static assay_status answer_find(builder *b)
{
    int states[AS_MAX_STATES], n = as_state_outputs(b->net, states);
    for (int i = 0; i < b->g.n_outputs; i++) {
        bool is_state = false;
        for (int k = 0; k < n; k++)
            is_state |= states[k] == i;
        if (!is_state && as_dtype_is_float(b->g.values[b->g.outputs[i]].info.dtype)) {
            b->y = b->scores = b->g.outputs[i];
            return ASSAY_OK;
        }
    }
    return as_fail(b->env, ASSAY_BAD_INPUT, "train: %s has no output of floats that a loss could judge", b->net->name);
}

static const as_bound_node *producer(const builder *b, int value)
{
    int p = b->g.values[value].producer;
    return p < 0 || b->g.nodes[p].dead ? NULL : &b->g.nodes[p];
}

/* The axis of a Softmax is the last, or that of the classes. */
static bool is_over_classes(const as_bound_node *n)
{
    int64_t axis = as_attr_int(&n->ctx, "axis", -1), rank = n->ctx.in[0].shape.rank;
    axis += axis < 0 ? rank : 0;
    return axis == (rank == 2 || rank > 3 ? 1 : rank - 1);
}

static assay_status loss_find(builder *b, const loss_kind **out)
{
    const as_bound_node *last = producer(b, b->y);
    const char          *name = b->setup->loss;
    *out = NULL;
    if (!name)
        name = last && is_op(last, "Softmax") ? "ce" : last && is_op(last, "Sigmoid") ? "bce" : "mse";
    for (size_t i = 0; i < AS_COUNT(losses); i++)
        if (!strcmp(losses[i].name, name))
            *out = &losses[i];
    if (!*out)
        return as_fail(b->env, ASSAY_BAD_INPUT, "train: there is no loss '%s'; there are ce, bce, mse, mae and huber", name);
    if (last && (*out)->inverse && is_op(last, (*out)->inverse) && (!(*out)->labels || is_over_classes(last)))
        b->scores = last->in[0]; /* the loss takes a softmax or a sigmoid itself, exactly */
    int rank = b->g.values[b->scores].info.shape.rank;
    if ((*out)->labels && rank < 2)
        return as_fail(b->env, ASSAY_BAD_INPUT, "train: the loss ce needs scores [batch, classes, ...] and '%s' of %s is %s",
                       b->g.values[b->scores].name, b->net->name,
                       as_shape_show(&b->g.values[b->scores].info.shape, (char[192]){0}, 192));
    b->t->loss = (*out)->name;
    b->t->loss_of = as_arena_text(&b->t->arena, b->g.values[b->scores].name);
    b->t->has_labels = (*out)->labels;
    return b->t->loss_of ? ASSAY_OK : no_memory(b);
}

/* Values of the network that are given: inputs, parameters in the block, other parameters, constants. */
static void givens_add(builder *b, as_maker *m, int *ids)
{
    as_dims block = {.rank = 1, .dim = {{.size = b->t->n_elements}}};
    int     params = -1;
    for (int i = 0; i < b->g.n_values; i++)
        ids[i] = -1;
    for (int i = 0; i < b->g.n_inputs; i++) { /* in the network's order */
        const as_bound_value *v = &b->g.values[b->g.inputs[i]];
        as_dims               dims;
        as_dims_of_shape(&v->info.shape, &dims);
        ids[b->g.inputs[i]] = as_maker_input(m, v->name, v->info.dtype, &dims);
    }
    params = as_maker_input(m, AS_TRAIN_PARAMS, AS_F32, &block);
    for (int i = 0; i < b->g.n_values && !as_maker_failed(m); i++) {
        const as_bound_value *v = &b->g.values[i];
        if (v->role == AS_ROLE_PARAM && b->part[i] >= 0) {
            const as_train_part *p = &b->t->parts[b->part[i]];
            as_attr              attrs[] = {AS_ATTR_I("begin", p->begin),
                                            {.name = "shape", .kind = AS_ATTR_INTS, .ints = p->shape.dim, .n = (size_t)p->shape.rank}};
            ids[i] = as_maker_node(m, "assay.Part", v->name, &params, 1, attrs, 2, NULL, 1, &v->name);
        } else if (v->role == AS_ROLE_PARAM) {
            ids[i] = as_maker_param(m, v->name, v->info.dtype, &v->info.shape, v->data, false);
        } else if (v->role == AS_ROLE_CONSTANT) {
            as_view view = as_view_of((void *)(uintptr_t)v->data, v->info.dtype, &v->info.shape);
            ids[i] = as_maker_constant(m, v->name, &view);
        }
    }
}

/* A node as it is in training: batch norm takes the batch's statistics and moves the running ones, dropout drops. */
typedef struct forward_node {
    int         in[AS_MAX_IN], n_in, n_out;
    const char *names[AS_MAX_OUT];
    as_attr     attrs[32];
    int         n_attrs;
    bool        moves; /* outputs 1 and 2 are the new running statistics */
} forward_node;

static void attr_put(forward_node *f, as_attr attr)
{
    for (int i = 0; i < f->n_attrs; i++)
        if (!strcmp(f->attrs[i].name, attr.name)) {
            f->attrs[i] = attr;
            return;
        }
    f->attrs[f->n_attrs++] = attr;
}

static void norm_train(builder *b, const as_bound_node *n, forward_node *f)
{
    f->moves = b->g.values[n->in[3]].role == AS_ROLE_PARAM && b->g.values[n->in[4]].role == AS_ROLE_PARAM;
    attr_put(f, (as_attr)AS_ATTR_I("training_mode", 1));
    f->n_out = f->moves ? 3 : 1;
    for (int k = 1; k < f->n_out; k++)
        f->names[k] = as_arena_printf(&b->t->arena, "train:%s", b->g.values[n->in[k + 2]].name);
}

static void dropout_train(builder *b, as_maker *m, const as_bound_node *n, forward_node *f)
{
    bool on = true;
    for (; f->n_in < 2; f->n_in++)
        f->in[f->n_in] = -1;
    f->in[2] = as_maker_constant(m, NULL, &(as_view){.data = &on, .dtype = AS_BOOL});
    f->n_in = 3;
    if (f->n_out < 2)
        f->names[f->n_out++] = as_arena_printf(&b->t->arena, "train:mask of %s", n->ctx.name);
}

/* Statistics that a frozen, or shared, batch norm uses stay as they are: then it works as in inference. */
static void node_train(builder *b, as_maker *m, const as_bound_node *n, forward_node *f)
{
    if (is_op(n, "BatchNormalization") && !is_frozen(b, b->g.values[n->in[3]].name))
        norm_train(b, n, f);
    else if (is_op(n, "Dropout"))
        dropout_train(b, m, n, f);
    else if (is_op(n, "assay.CfC") && as_attr_float(&n->ctx, "dropout", 0.0) > 0.0)
        attr_put(f, (as_attr)AS_ATTR_I("training", 1));
}

static assay_status kept_add(builder *b, const char *name, const char *next)
{
    as_train_graph *t = b->t;
    for (int i = t->first_kept; i < t->n_variables; i++)
        if (!strcmp(t->variables[i].name, name))
            return as_fail(b->env, ASSAY_UNSUPPORTED, "train: two batch norms of %s share the running statistic '%s'", b->net->name,
                           name);
    t->variables[t->n_variables++] = (as_variable_def){.name = name, .becomes = next};
    return ASSAY_OK;
}

static assay_status nodes_add(builder *b, as_maker *m, int *ids)
{
    for (int i = 0; i < b->g.n_nodes && !as_maker_failed(m); i++) {
        const as_bound_node *n = &b->g.nodes[i];
        forward_node         f = {.n_in = n->ctx.n_in, .n_out = n->ctx.n_out, .n_attrs = n->ctx.n_attrs};
        int                  out[AS_MAX_OUT];
        if (n->dead)
            continue;
        if (f.n_attrs > (int)AS_COUNT(f.attrs) - 4)
            return as_fail(b->env, ASSAY_UNSUPPORTED, "train: node '%s' of %s has %d attributes", n->ctx.name, b->net->name,
                           f.n_attrs);
        for (int k = 0; k < f.n_in; k++)
            f.in[k] = n->in[k] < 0 ? -1 : ids[n->in[k]];
        for (int k = 0; k < f.n_out; k++)
            f.names[k] = b->g.values[n->out[k]].name;
        for (int k = 0; k < f.n_attrs; k++)
            f.attrs[k] = n->ctx.attrs[k];
        node_train(b, m, n, &f);
        as_maker_module(m, n->ctx.module ? n->ctx.module : "");
        if (as_maker_node(m, n->ctx.op->name, n->ctx.name, f.in, f.n_in, f.attrs, f.n_attrs, out, f.n_out, f.names) < 0)
            break;
        for (int k = 0; k < n->ctx.n_out; k++)
            ids[n->out[k]] = out[k];
        for (int k = 1; f.moves && k < 3; k++) {
            AS_TRY(kept_add(b, as_arena_text(&b->t->arena, b->g.values[n->in[k + 2]].name), f.names[k]));
            as_maker_output(m, out[k]);
        }
    }
    as_maker_module(m, "");
    return ASSAY_OK;
}

static int reshaped(as_maker *m, int value, const char *name, const int64_t *sizes, int64_t rank)
{
    as_view view = as_view_of((void *)(uintptr_t)sizes, AS_I64, &AS_SHAPE(rank));
    int     to = as_maker_constant(m, NULL, &view);
    return as_maker_node(m, "Reshape", name, (int[]){value, to}, 2, NULL, 0, NULL, 1, NULL);
}

/* The loss of scores [N, T, C], a sequence, is that of N T examples.  Otherwise the classes are axis 1, as in ONNX. */
static void loss_add(builder *b, as_maker *m, const loss_kind *kind, int scores)
{
    const as_shape *s = &b->g.values[b->scores].info.shape;
    as_shape        target = *s;
    as_dims         dims;
    if (kind->labels) {
        int axis = s->rank == 3 ? 2 : 1;
        target.rank--;
        for (int i = axis; i < target.rank; i++)
            target.dim[i] = s->dim[i + 1];
    }
    as_dims_of_shape(&target, &dims);
    as_maker_place(m, &(as_train_place){.pass = AS_PASS_LOSS, .layer = "loss"});
    int t = as_maker_input(m, AS_TRAIN_TARGET, kind->labels ? AS_I64 : AS_F32, &dims);
    if (kind->labels && s->rank == 3) {
        scores = reshaped(m, scores, "train:scores", (int64_t[]){s->dim[0] * s->dim[1], s->dim[2]}, 2);
        t = reshaped(m, t, "train:labels", (int64_t[]){s->dim[0] * s->dim[1]}, 1);
    }
    const char *name = AS_TRAIN_LOSS;
    as_maker_output(m, as_maker_node(m, kind->op, name, (int[]){scores, t}, 2, NULL, 0, NULL, 1, &name));
}

static assay_status forward_make(builder *b, assay_model **out)
{
    const loss_kind *kind;
    as_maker        *m;
    AS_TRY(loss_find(b, &kind));
    int *ids = AS_TAKE(&b->arena, int, b->g.n_values);
    if (!ids)
        return no_memory(b);
    AS_TRY(as_maker_new(b->env, b->net->name, 0, &m));
    b->t->n_variables = b->t->first_kept;
    givens_add(b, m, ids);
    assay_status status = nodes_add(b, m, ids);
    if (status != ASSAY_OK) {
        assay_model *unfinished = NULL; /* the maker is freed with it */
        if (as_maker_finish(m, &unfinished) == ASSAY_OK)
            assay_model_free(unfinished);
        return status;
    }
    if (!as_maker_failed(m))
        loss_add(b, m, kind, ids[b->scores]);
    for (int i = 0; i < b->g.n_outputs && !as_maker_failed(m); i++)
        as_maker_output(m, ids[b->g.outputs[i]]);
    return as_maker_finish(m, out);
}

/* --- The backward pass -------------------------------------------------------------------------------------------- */

static assay_status backward_make(builder *b, const assay_model *forward, assay_model **out)
{
    const char **wrt = AS_TAKE(&b->arena, const char *, b->t->n_parts);
    if (!wrt)
        return no_memory(b);
    for (int i = 0; i < b->t->n_parts; i++)
        wrt[i] = b->t->parts[i].name;
    return as_model_backward(b->env, forward, AS_TRAIN_LOSS, wrt, b->t->n_parts, out);
}

static int gradient_of(const builder *b, const assay_model *m, const as_train_part *p)
{
    char name[1024];
    (void)b;
    snprintf(name, sizeof name, "d:%s", p->name);
    return as_model_value_find(m, name);
}

/* Parameters that the loss does not depend on (the mask of a wiring) keep their values, weight decay or not.  True: there are some. */
static bool idle_mark(builder *b, const assay_model *backward)
{
    bool any = false;
    for (int v = 0; v < b->g.n_values; v++) {
        if (b->part[v] < 0)
            continue;
        int d = gradient_of(b, backward, &b->t->parts[b->part[v]]);
        b->no_slope[v] = d >= 0 && backward->values[d].role == AS_ROLE_CONSTANT;
        any |= b->no_slope[v];
        b->part[v] = b->no_slope[v] ? -1 : b->part[v];
    }
    return any;
}

/* --- The flat gradient and the optimiser ------------------------------------------------------------------------------ */

static int scalar_input(as_maker *m, const char *name, as_dtype dtype) { return as_maker_input(m, name, dtype, &(as_dims){0}); }

static int vector_input(as_maker *m, const char *name, as_dtype dtype, int64_t n)
{
    return as_maker_input(m, name, dtype, &(as_dims){.rank = 1, .dim = {{.size = n}}});
}

/* The gradients of parts first .. first + n - 1 as a stretch of the block that begins with the first and ends with `end`. */
static int stretch_join(builder *b, as_maker *m, const assay_model *g, const int *ids, int first, int n, int64_t end)
{
    int     in[JOIN_AT_ONCE];
    int64_t begins[JOIN_AT_ONCE], from = b->t->parts[first].begin;
    char    name[64];
    for (int i = 0; i < n; i++) {
        in[i] = ids[gradient_of(b, g, &b->t->parts[first + i])];
        begins[i] = b->t->parts[first + i].begin - from;
    }
    as_attr attrs[] = {{.name = "begins", .kind = AS_ATTR_INTS, .ints = begins, .n = (size_t)n}, AS_ATTR_I("size", end - from)};
    snprintf(name, sizeof name, n == b->t->n_parts ? "train:gradient" : "train:gradient from %d", first);
    return as_maker_node(m, "assay.Join", name, in, n, attrs, 2, NULL, 1, NULL);
}

/* More parts than an operator takes inputs: a block of blocks. */
static int gradient_join(builder *b, as_maker *m, const assay_model *g, const int *ids)
{
    const as_train_graph *t = b->t;
    int                   in[JOIN_AT_ONCE], n = 0, most = JOIN_AT_ONCE;
    int64_t               begins[JOIN_AT_ONCE];
    if (t->n_parts <= JOIN_AT_ONCE)
        return stretch_join(b, m, g, ids, 0, t->n_parts, t->n_elements);
    for (int first = 0; first < t->n_parts; first += most) {
        int more = t->n_parts - first < most ? t->n_parts - first : most;
        if (n == JOIN_AT_ONCE) {
            as_maker_fail(m, "%d parameters are more than %d", t->n_parts, JOIN_AT_ONCE * JOIN_AT_ONCE);
            return -1;
        }
        begins[n] = t->parts[first].begin;
        in[n++] = stretch_join(b, m, g, ids, first, more, first + more < t->n_parts ? t->parts[first + more].begin : t->n_elements);
    }
    as_attr attrs[] = {{.name = "begins", .kind = AS_ATTR_INTS, .ints = begins, .n = (size_t)n}, AS_ATTR_I("size", t->n_elements)};
    return as_maker_node(m, "assay.Join", "train:gradient", in, n, attrs, 2, NULL, 1, NULL);
}

static void variable_add(builder *b, const char *name, const char *next, bool zeros)
{
    b->t->variables[b->t->n_variables++] = (as_variable_def){.name = name, .becomes = next, .zeros = zeros};
}

static int decays_add(builder *b, as_maker *m)
{
    float decays[MAX_GROUPS];
    for (int i = 0; i < b->t->n_groups; i++)
        decays[i] = (float)as_group_decay(&b->optimizer, group_at(b, i));
    as_view view = as_view_of(decays, AS_F32, &AS_SHAPE(b->t->n_groups));
    return as_maker_constant(m, "train:decays", &view);
}

/* The optimiser's node: (w, g, rates, decays, step, norm, scale, states...) to (w', used, skipped, states'...). */
static void update_add(builder *b, as_maker *m, int params, int g, int norm, int scale)
{
    as_train_graph *t = b->t;
    as_optimizer   *o = &b->optimizer;
    int             in[16] = {params, g}, out[16], n_in = 7, n_out = 3;
    const char     *names[16] = {"train:params next", AS_TRAIN_USED, AS_TRAIN_SKIPPED};
    as_attr         attrs[AS_OPTIMIZER_ATTRS];
    int             n_attrs = as_optimizer_node(o, b->setup->clip_norm, b->setup->clip_value, t->starts, t->n_groups, attrs);
    in[2] = vector_input(m, AS_TRAIN_RATES, AS_F32, t->n_groups);
    in[3] = decays_add(b, m);
    in[4] = scalar_input(m, AS_TRAIN_STEP, AS_I64);
    in[5] = norm;
    in[6] = scale;
    for (int i = 0; i < o->n_states; i++) {
        bool one = o->states[i].dtype == AS_F64;
        t->variables[1 + i] = (as_variable_def){.name = as_arena_printf(&t->arena, "train:%s", o->states[i].name),
                                                .becomes = as_arena_printf(&t->arena, "train:%s next", o->states[i].name)};
        in[n_in++] = vector_input(m, t->variables[1 + i].name, one ? AS_F64 : AS_F32, one ? 1 : t->n_elements);
        names[n_out++] = t->variables[1 + i].becomes;
    }
    as_maker_node(m, o->op, "train:update", in, n_in, attrs, n_attrs, out, n_out, names);
    for (int i = 0; i < n_out && !as_maker_failed(m); i++)
        as_maker_output(m, out[i]);
}

static assay_status whole_make(builder *b, const assay_model *g, assay_model **out)
{
    as_train_graph *t = b->t;
    as_maker       *m;
    int            *ids = AS_TAKE(&b->arena, int, g->n_values), norm = -1, scale = -1;
    const char     *sum_next = AS_TRAIN_SUM " next", *norm_name = AS_TRAIN_NORM;
    if (!ids)
        return no_memory(b);
    AS_TRY(as_maker_new(b->env, b->net->name, 0, &m));
    as_maker_prune(m);
    as_maker_include(m, g, ids);
    for (int i = 0; i < g->n_outputs - t->n_parts && !as_maker_failed(m); i++)
        as_maker_output(m, ids[g->outputs[i]]);
    as_maker_place(m, &(as_train_place){.pass = AS_PASS_BACKWARD});
    int flat = as_maker_failed(m) ? -1 : gradient_join(b, m, g, ids);
    as_maker_place(m, &(as_train_place){.pass = AS_PASS_UPDATE});
    if (t->accumulates && !as_maker_failed(m)) {
        int sum = vector_input(m, AS_TRAIN_SUM, AS_F32, t->n_elements), keep = scalar_input(m, AS_TRAIN_KEEP, AS_F32);
        flat = as_maker_node(m, "assay.Accumulate", "train:accumulate", (int[]){sum, flat, keep}, 3, NULL, 0, NULL, 1, &sum_next);
        as_maker_output(m, flat);
    }
    if (t->has_scale && !as_maker_failed(m))
        scale = scalar_input(m, AS_TRAIN_SCALE, AS_F32);
    if (t->has_norm && !as_maker_failed(m)) {
        norm = as_maker_node(m, "assay.GradNorm", "train:norm of gradient", (int[]){flat, scale}, scale < 0 ? 1 : 2, NULL, 0, NULL,
                             1, &norm_name);
        as_maker_output(m, norm);
    }
    if (t->is_lbfgs)
        as_maker_output(m, flat);
    else if (!as_maker_failed(m))
        update_add(b, m, ids[as_model_value_find(g, AS_TRAIN_PARAMS)], flat, norm, scale);
    return as_maker_finish(m, out);
}

/* --- All of it ----------------------------------------------------------------------------------------------------------- */

/* The optimiser's variables come first, the running statistics after them. */
static assay_status optimizer_find(builder *b)
{
    as_train_graph *t = b->t;
    AS_TRY(as_optimizer_parse(b->env, b->setup->optimizer ? b->setup->optimizer : "adam", &b->optimizer));
    t->n_groups = (int)b->setup->groups.n + 1;
    b->groups = AS_TAKE(&t->arena, as_group, t->n_groups);
    if (!b->groups)
        return no_memory(b);
    for (int i = 0; i + 1 < t->n_groups; i++)
        AS_TRY(as_group_parse(b->env, b->setup->groups.items[i], &b->groups[i]));
    if (t->n_groups > MAX_GROUPS)
        return as_fail(b->env, ASSAY_BAD_INPUT, "train: %d groups of parameters; %d are allowed", t->n_groups, MAX_GROUPS);
    t->is_lbfgs = !b->optimizer.op;
    t->n_states = b->optimizer.n_states;
    t->accumulates = b->setup->accumulate > 1 && !t->is_lbfgs;
    t->has_scale = b->setup->precision == AS_TRAIN_F16 && !t->is_lbfgs;
    t->has_norm = b->setup->norm || b->setup->clip_norm > 0 || t->has_scale;
    t->rates = AS_TAKE(&t->arena, double, t->n_groups);
    if (!t->rates)
        return no_memory(b);
    for (int i = 0; i < t->n_groups; i++)
        t->rates[i] = as_group_factor(&b->optimizer, group_at(b, i));
    for (int i = 0; i < t->n_states; i++)
        t->initial[i] = b->optimizer.states[i].initial;
    t->base_rate = b->optimizer.rate;
    t->variables = AS_TAKE(&t->arena, as_variable_def, 2 + t->n_states + 2 * b->g.n_nodes);
    if (!t->variables)
        return no_memory(b);
    t->n_variables = 0;
    variable_add(b, AS_TRAIN_PARAMS, t->is_lbfgs ? NULL : "train:params next", true);
    t->n_variables += t->n_states;
    if (t->accumulates)
        variable_add(b, AS_TRAIN_SUM, AS_TRAIN_SUM " next", true);
    t->first_kept = t->n_variables;
    return ASSAY_OK;
}

static assay_status models_make(builder *b)
{
    as_train_graph *t = b->t;
    AS_TRY(parts_find(b));
    AS_TRY(forward_make(b, &t->inner[0]));
    AS_TRY(backward_make(b, t->inner[0], &t->inner[1]));
    if (idle_mark(b, t->inner[1])) {
        for (int i = 1; i >= 0; i--) {
            assay_model_free(t->inner[i]);
            t->inner[i] = NULL;
        }
        AS_TRY(parts_find(b));
        AS_TRY(forward_make(b, &t->inner[0]));
        AS_TRY(backward_make(b, t->inner[0], &t->inner[1]));
    }
    AS_TRY(whole_make(b, t->inner[1], &t->model));
    if (b->setup->precision != AS_TRAIN_F32)
        AS_TRY(as_precision_apply(b->env, b->setup->precision, b->setup->precision_skips, &t->model, &t->precision));
    if (b->setup->recompute)
        AS_TRY(as_recompute_apply(b->env, b->setup->recompute, &t->model, &t->recompute));
    return ASSAY_OK;
}

static assay_status make(builder *b, const as_binding_dim *dims, int n_dims)
{
    AS_TRY(weights_know(b, b->net));
    b->net = &b->t->net;
    AS_TRY(as_graph_bind(b->env, b->net, dims, n_dims, NULL, 0, 0, &b->arena, &b->g));
    b->is_kept = AS_TAKE(&b->arena, bool, b->g.n_values);
    b->no_slope = AS_TAKE(&b->arena, bool, b->g.n_values);
    b->part = AS_TAKE(&b->arena, int, b->g.n_values);
    if (!b->is_kept || !b->part || !b->no_slope)
        return no_memory(b);
    for (int i = 0; i < b->g.n_values; i++)
        b->part[i] = -1;
    statistics_mark(b);
    AS_TRY(optimizer_find(b));
    AS_TRY(freeze_check(b));
    AS_TRY(answer_find(b));
    b->t->answer = as_arena_text(&b->t->arena, b->g.values[b->y].name);
    return models_make(b);
}

assay_status as_train_graph_new(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims,
                                const as_train_setup *setup, as_train_graph **out)
{
    builder b = {.env = env, .net = model, .setup = setup, .t = calloc(1, sizeof *b.t)};
    if (!b.t)
        return no_memory(&b);
    assay_status status = make(&b, dims, n_dims);
    as_arena_drop(&b.arena);
    if (status != ASSAY_OK) {
        as_train_graph_free(b.t);
        return status;
    }
    *out = b.t;
    return ASSAY_OK;
}

void as_train_graph_free(as_train_graph *graph)
{
    if (!graph)
        return;
    assay_model_free(graph->model);
    for (int i = (int)AS_COUNT(graph->inner) - 1; i >= 0; i--)
        assay_model_free(graph->inner[i]);
    as_arena_drop(&graph->arena);
    free(graph);
}

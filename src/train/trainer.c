/* trainer.c - steps of a training graph: inputs in, one run of the instance, results out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/train.h"
#include "train/precision.h"

struct as_trainer {
    const assay_model *net;
    as_train_graph    *graph;
    assay_plan        *plan;
    assay_instance    *instance;
    as_view           *inputs; /* of the network, in the instance */
    bool              *is_time;
    as_view            target, factor, rates, step, keep, scale; /* inputs of the step; data NULL: it has none */
    as_view            loss, norm, used, skipped, answer;        /* outputs */
    bool               explicit_cells;                           /* an LTC whose constraints are kept by clamping */
    int                accumulate, n_accumulated;
    uint64_t           updates;
};

/* --- Making ------------------------------------------------------------------------------------------------------ */

static as_view input_view(const as_trainer *t, const char *name)
{
    const as_graph *g = &t->plan->graph;
    for (int i = 0; i < g->n_inputs; i++)
        if (!strcmp(g->values[g->inputs[i]].name, name))
            return as_instance_input(t->instance, i);
    return (as_view){0};
}

static as_view output_view(const as_trainer *t, const char *name)
{
    const as_graph *g = &t->plan->graph;
    for (int i = 0; i < g->n_outputs; i++)
        if (!strcmp(g->values[g->outputs[i]].name, name))
            return as_instance_output(t->instance, i);
    return (as_view){0};
}

static assay_status views_find(assay_env *env, as_trainer *t)
{
    int n = t->net->n_inputs, time = as_timespans_find(t->net);
    t->inputs = calloc((size_t)n + 1, sizeof *t->inputs);
    t->is_time = calloc((size_t)n + 1, sizeof *t->is_time);
    if (!t->inputs || !t->is_time)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory for %d inputs", n);
    for (int i = 0; i < n; i++) {
        t->inputs[i] = input_view(t, t->net->values[t->net->inputs[i]].name);
        t->is_time[i] = i == time;
    }
    t->target = input_view(t, AS_TRAIN_TARGET);
    t->factor = input_view(t, "d:" AS_TRAIN_LOSS);
    t->rates = input_view(t, AS_TRAIN_RATES);
    t->step = input_view(t, AS_TRAIN_STEP);
    t->keep = input_view(t, AS_TRAIN_KEEP);
    t->scale = input_view(t, AS_TRAIN_SCALE);
    t->loss = output_view(t, AS_TRAIN_LOSS);
    t->norm = output_view(t, AS_TRAIN_NORM);
    t->used = output_view(t, AS_TRAIN_USED);
    t->skipped = output_view(t, AS_TRAIN_SKIPPED);
    t->answer = output_view(t, t->graph->answer);
    return ASSAY_OK;
}

/* The block begins with the model's values; its gaps are 0 and stay so. */
static void params_fill(as_trainer *t)
{
    char *block = as_instance_variable(t->instance, 0).data;
    for (int i = 0; i < t->graph->n_parts; i++) {
        const as_train_part *p = &t->graph->parts[i];
        memcpy(block + (size_t)p->begin * sizeof(float), p->data, (size_t)p->count * sizeof(float));
    }
    for (int i = 0; i < t->graph->n_states; i++) {
        as_view state = as_instance_variable(t->instance, 1 + i);
        for (int64_t k = 0; t->graph->initial[i] != 0.0 && k < as_shape_count(&state.shape); k++)
            as_view_set(&state, k, t->graph->initial[i]);
    }
}

/* LTC cells with implicit = 0 need gleak, cm and the weights of synapses at or above 0: clamped after every update. */
static bool is_explicit_cell(const as_node *n)
{
    if (strcmp(n->op->name, "assay.LTC"))
        return false;
    for (int i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, "implicit"))
            return n->attrs[i].i == 0;
    return false;
}

/* The sizes that the network was bound to are those of the plan, too: reports name the batch size. */
static assay_status dims_keep(assay_env *env, const as_binding_dim *dims, int n, assay_plan *plan)
{
    as_binding_dim *kept = AS_TAKE(&plan->arena, as_binding_dim, n + 1);
    for (int i = 0; kept && i < n; i++) {
        kept[i] = (as_binding_dim){as_arena_text(&plan->arena, dims[i].symbol), dims[i].size};
        if (!kept[i].symbol)
            kept = NULL;
    }
    if (!kept)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory for %d sizes", n);
    plan->dims = kept;
    plan->n_dims = n;
    return ASSAY_OK;
}

static assay_status plan_once(assay_env *env, const assay_model *model, const as_train_setup *setup,
                              const as_plan_options *plan_options, as_train_graph **graph, assay_plan **plan)
{
    as_plan_options       options = *plan_options;
    const as_binding_dim *dims = NULL;
    int                   n_dims = 0;
    as_arena              arena = {0};
    as_train_graph       *made = NULL;
    assay_plan           *built = NULL;
    assay_status          status = as_plan_dims(env, model, plan_options, &arena, &dims, &n_dims);
    if (status == ASSAY_OK)
        status = as_train_graph_new(env, model, dims, n_dims, setup, &made);
    /* The graph is concrete, so sizes were used up. */
    options.dims = (as_texts){0};
    options.batch_is_set = options.seq_is_set = false;
    if (setup->precision != AS_TRAIN_F32)
        options.weights_as = as_precision_weights(setup->precision);
    if (status == ASSAY_OK)
        status = as_plan_build_with(env, made->model, &options,
                                    &(as_plan_with){.variables = made->variables, .n_variables = made->n_variables}, &built);
    if (status == ASSAY_OK)
        status = dims_keep(env, dims, n_dims, built);
    as_arena_drop(&arena);
    if (status != ASSAY_OK) {
        assay_plan_free(built);
        as_train_graph_free(made);
        return status;
    }
    *graph = made;
    *plan = built;
    return ASSAY_OK;
}

typedef struct planned {
    as_train_graph *graph;
    assay_plan     *plan;
} planned;

static void planned_drop(planned *p)
{
    assay_plan_free(p->plan);
    as_train_graph_free(p->graph);
    *p = (planned){NULL, NULL};
}

/* Keeps the plan with the smaller peak; one that cannot be made loses. */
static void planned_try(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                        planned *best)
{
    planned p = {NULL, NULL};
    if (plan_once(env, model, setup, options, &p.graph, &p.plan) != ASSAY_OK) {
        env->message[0] = '\0';
        return;
    }
    if (assay_plan_peak_bytes(p.plan) >= assay_plan_peak_bytes(best->plan)) {
        planned_drop(&p);
        return;
    }
    planned_drop(best);
    *best = p;
}

/* What is left to choose is chosen by the planner's own count: which results stay f32, and into how many segments the pass is cut. */
assay_status as_train_plan_new(assay_env *env, const assay_model *model, const as_train_setup *setup,
                               const as_plan_options *plan_options, as_train_graph **graph, assay_plan **plan)
{
    static const int segments[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24};
    enum { MAX_SKIPS = 4 };
    as_train_setup own = *setup;
    planned        best = {NULL, NULL};
    AS_TRY(plan_once(env, model, &own, plan_options, &best.graph, &best.plan));
    for (int n = 1; n <= MAX_SKIPS && setup->precision != AS_TRAIN_F32 && !setup->precision_skips; n++) {
        own.precision_skips = n;
        planned_try(env, model, &own, plan_options, &best);
    }
    own.precision_skips = best.graph->precision.n_skipped;
    for (size_t i = 0; i < AS_COUNT(segments) && setup->recompute < 0; i++) {
        own.recompute = segments[i];
        planned_try(env, model, &own, plan_options, &best);
    }
    *graph = best.graph;
    *plan = best.plan;
    return ASSAY_OK;
}

static assay_status make(assay_env *env, as_trainer *t, const as_train_setup *setup, const as_plan_options *plan_options)
{
    AS_TRY(as_train_plan_new(env, t->net, setup, plan_options, &t->graph, &t->plan));
    t->net = &t->graph->net;
    AS_TRY(assay_instance_new(env, t->plan, &t->instance));
    AS_TRY(views_find(env, t));
    t->accumulate = t->graph->accumulates ? setup->accumulate : 1;
    for (int i = 0; i < t->net->n_nodes; i++)
        t->explicit_cells |= is_explicit_cell(&t->net->nodes[i]);
    params_fill(t);
    return ASSAY_OK;
}

assay_status as_trainer_new(assay_env *env, const assay_model *model, const as_train_setup *setup,
                            const as_plan_options *plan_options, as_trainer **out)
{
    as_trainer *t = calloc(1, sizeof *t);
    if (!t)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory for a trainer");
    t->net = model;
    assay_status status = make(env, t, setup, plan_options);
    if (status != ASSAY_OK) {
        as_trainer_free(t);
        return status;
    }
    *out = t;
    return ASSAY_OK;
}

void as_trainer_free(as_trainer *t)
{
    if (!t)
        return;
    assay_instance_free(t->instance);
    assay_plan_free(t->plan);
    as_train_graph_free(t->graph);
    free(t->inputs);
    free(t->is_time);
    free(t);
}

/* --- One step ----------------------------------------------------------------------------------------------------- */

/* Equal numbers of elements are enough: a target [N] is as good as [N, 1]. */
static assay_status fill(assay_env *env, const as_view *to, const as_view *from, const char *what)
{
    if (as_shape_count(&to->shape) != as_shape_count(&from->shape))
        return as_fail(env, ASSAY_BAD_INPUT, "train: %s is %s and the network takes %s", what,
                       as_shape_show(&from->shape, (char[192]){0}, 192), as_shape_show(&to->shape, (char[192]){0}, 192));
    as_view same = *from;
    if (as_view_contiguous(from) && from->dtype == to->dtype) {
        memcpy(to->data, from->data, as_view_bytes(to));
        return ASSAY_OK;
    }
    if (!as_shape_same(&to->shape, &from->shape)) {
        if (!as_view_contiguous(from))
            return as_fail(env, ASSAY_BAD_INPUT, "train: %s is %s and not contiguous, and the network takes %s", what,
                           as_shape_show(&from->shape, (char[192]){0}, 192), as_shape_show(&to->shape, (char[192]){0}, 192));
        same = as_view_of(from->data, from->dtype, &to->shape);
    }
    as_view_copy(to, &same);
    return ASSAY_OK;
}

static assay_status inputs_fill(assay_env *env, as_trainer *t, const as_train_input *in)
{
    if (in->n_inputs > t->net->n_inputs)
        return as_fail(env, ASSAY_BAD_INPUT, "train: %d inputs were given and %s has %d", in->n_inputs, t->net->name,
                       t->net->n_inputs);
    for (int i = 0; i < t->net->n_inputs; i++) {
        const char *name = t->net->values[t->net->inputs[i]].name;
        if (i < in->n_inputs && in->inputs[i].data)
            AS_TRY(fill(env, &t->inputs[i], &in->inputs[i], name));
        else if (t->is_time[i])
            for (int64_t k = 0; k < as_shape_count(&t->inputs[i].shape); k++)
                as_view_set(&t->inputs[i], k, 1.0);
        else
            memset(t->inputs[i].data, 0, as_view_bytes(&t->inputs[i]));
    }
    return fill(env, &t->target, in->target, "the target");
}

static void number_put(const as_view *v, double x)
{
    if (v->data)
        as_view_set(v, 0, x);
}

static void numbers_fill(as_trainer *t, const as_train_input *in)
{
    double scale = in->loss_scale > 0 ? in->loss_scale : 1.0;
    number_put(&t->factor, scale / t->accumulate);
    number_put(&t->scale, scale);
    number_put(&t->keep, t->n_accumulated ? 1.0 : 0.0);
    number_put(&t->step, in->update ? (double)(t->updates + 1) : 0.0);
    for (int i = 0; t->rates.data && i < t->graph->n_groups; i++)
        as_view_set(&t->rates, i, in->rates[i]);
}

static void constraints_keep(as_trainer *t)
{
    static const char *const names[] = {"gleak", "cm", "w", "sensory_w"};
    float                   *block = as_instance_variable(t->instance, 0).data;
    for (int i = 0; i < t->graph->n_parts; i++) {
        const as_train_part *p = &t->graph->parts[i];
        const char          *last = strrchr(p->name, '.');
        for (size_t k = 0; k < AS_COUNT(names); k++)
            if (!strcmp(last ? last + 1 : p->name, names[k]))
                for (int64_t e = p->begin; e < p->begin + p->count; e++)
                    block[e] = block[e] < 0 ? 0 : block[e];
    }
}

assay_status as_trainer_step(const as_run_ctx *run, as_trainer *t, const as_train_input *in, as_train_output *out)
{
    AS_TRY(inputs_fill(run->env, t, in));
    numbers_fill(t, in);
    AS_TRY(as_instance_step(run, t->instance));
    *out = (as_train_output){.loss = as_view_get(&t->loss, 0), .norm = NAN, .used = NAN, .answer = t->answer};
    if (t->norm.data)
        out->norm = as_view_get(&t->norm, 0);
    if (!in->update) {
        t->n_accumulated++;
        return ASSAY_OK;
    }
    t->n_accumulated = 0;
    if (t->used.data) {
        out->used = as_view_get(&t->used, 0);
        out->skipped = as_view_get(&t->skipped, 0) != 0.0;
    }
    t->updates += out->skipped ? 0 : 1;
    if (t->explicit_cells)
        constraints_keep(t);
    return ASSAY_OK;
}

/* --- Looking ------------------------------------------------------------------------------------------------------- */

const as_train_graph *as_trainer_graph(const as_trainer *t) { return t->graph; }
const assay_plan     *as_trainer_plan(const as_trainer *t) { return t->plan; }
assay_instance       *as_trainer_instance(as_trainer *t) { return t->instance; }
uint64_t              as_trainer_updates(const as_trainer *t) { return t->updates; }

void as_trainer_set_counts(as_trainer *t, uint64_t updates, uint64_t steps)
{
    t->updates = updates;
    t->instance->step = steps;
    t->n_accumulated = 0;
}

as_view as_trainer_weight(const as_trainer *t, const char *name)
{
    for (int i = 0; i < t->graph->n_parts; i++) {
        const as_train_part *p = &t->graph->parts[i];
        if (!strcmp(p->name, name))
            return as_view_of((float *)as_instance_variable(t->instance, 0).data + p->begin, AS_F32, &p->shape);
    }
    for (int i = t->graph->first_kept; i < t->graph->n_variables; i++)
        if (!strcmp(t->graph->variables[i].name, name))
            return as_instance_variable(t->instance, i);
    return (as_view){0};
}

assay_status as_trainer_take(assay_env *env, as_trainer *to, const as_trainer *from)
{
    for (int i = 0; i < from->plan->n_variables; i++) {
        as_view view = as_instance_variable(from->instance, i);
        AS_TRY(as_instance_set(env, to->instance, from->plan->variables[i].name, &view));
    }
    as_trainer_set_counts(to, from->updates, from->instance->step);
    return ASSAY_OK;
}

/* The network with its parameters' data replaced by ours. */
static assay_status model_include(assay_env *env, const as_trainer *t, as_maker *m)
{
    assay_model net = *t->net;
    int        *ids = calloc((size_t)net.n_values + 1, sizeof *ids);
    net.values = calloc((size_t)net.n_values + 1, sizeof *net.values);
    if (!ids || !net.values) {
        free(ids);
        free(net.values);
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory for a copy of %s", net.name);
    }
    memcpy(net.values, t->net->values, (size_t)net.n_values * sizeof *net.values);
    for (int i = 0; i < net.n_values; i++) {
        as_view now = as_trainer_weight(t, net.values[i].name);
        if (net.values[i].role == AS_ROLE_PARAM && now.data)
            net.values[i].data = now.data;
    }
    as_maker_include(m, &net, ids);
    for (int i = 0; i < net.n_outputs && !as_maker_failed(m); i++)
        as_maker_output(m, ids[net.outputs[i]]);
    free(ids);
    free(net.values);
    return ASSAY_OK;
}

assay_status as_trainer_model(assay_env *env, const as_trainer *t, assay_model **out)
{
    as_maker *m;
    AS_TRY(as_maker_new(env, t->net->name, 0, &m));
    assay_status included = model_include(env, t, m), finished = as_maker_finish(m, out);
    if (included != ASSAY_OK && finished == ASSAY_OK)
        assay_model_free(*out);
    return included != ASSAY_OK ? included : finished;
}

/* --- Evaluating ------------------------------------------------------------------------------------------------------ */

struct as_evaluator {
    const as_trainer *trainer;
    assay_plan       *plan;
    assay_instance   *instance;
    int               answer, time; /* places among the outputs and inputs */
};

/* Parameters that learn are read where the trainer keeps them. */
static assay_status weights_lend(assay_env *env, as_evaluator *e)
{
    const assay_model *net = e->trainer->net;
    for (int i = 0; i < net->n_values; i++) {
        as_view now = as_trainer_weight(e->trainer, net->values[i].name);
        if (net->values[i].role == AS_ROLE_PARAM && now.data)
            AS_TRY(as_instance_set_param(env, e->instance, net->values[i].name, &now));
    }
    return ASSAY_OK;
}

assay_status as_evaluator_new(assay_env *env, const as_trainer *trainer, const as_plan_options *plan_options, as_evaluator **out)
{
    as_evaluator *e = calloc(1, sizeof *e);
    assay_status  status;
    if (!e)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory to evaluate");
    e->trainer = trainer;
    e->time = as_timespans_find(trainer->net);
    AS_TRY_OR(fail, as_plan_build(env, trainer->net, plan_options, &e->plan));
    AS_TRY_OR(fail, assay_instance_new(env, e->plan, &e->instance));
    AS_TRY_OR(fail, weights_lend(env, e));
    while (strcmp(trainer->net->values[trainer->net->outputs[e->answer]].name, trainer->graph->answer))
        e->answer++;
    *out = e;
    return ASSAY_OK;
fail:
    as_evaluator_free(e);
    return status;
}

void as_evaluator_free(as_evaluator *e)
{
    if (!e)
        return;
    assay_instance_free(e->instance);
    assay_plan_free(e->plan);
    free(e);
}

void as_evaluator_refresh(as_evaluator *e) { e->instance->prologue_due = true; }

/* The rows that there are; the others keep what they had. */
static assay_status rows_fill(assay_env *env, const as_view *to, const as_view *from, const char *name)
{
    size_t bytes = as_view_bytes(from);
    if (!as_view_contiguous(from) || from->dtype != to->dtype || bytes > as_view_bytes(to))
        return as_fail(env, ASSAY_BAD_INPUT, "train: evaluating: %s is %s %s and the network takes %s %s", name,
                       as_dtype_name(from->dtype), as_shape_show(&from->shape, (char[192]){0}, 192), as_dtype_name(to->dtype),
                       as_shape_show(&to->shape, (char[192]){0}, 192));
    memcpy(to->data, from->data, bytes);
    return ASSAY_OK;
}

assay_status as_evaluator_run(const as_run_ctx *run, as_evaluator *e, const as_view *inputs, int n_inputs, as_view *answer)
{
    const assay_model *net = e->trainer->net;
    for (int i = 0; i < net->n_inputs; i++) {
        as_view to = as_instance_input(e->instance, i);
        if (i < n_inputs && inputs[i].data)
            AS_TRY(rows_fill(run->env, &to, &inputs[i], net->values[net->inputs[i]].name));
        else if (i == e->time)
            for (int64_t k = 0; k < as_shape_count(&to.shape); k++)
                as_view_set(&to, k, 1.0);
        else
            memset(to.data, 0, as_view_bytes(&to));
    }
    AS_TRY(as_instance_step(run, e->instance));
    *answer = as_instance_output(e->instance, e->answer);
    return ASSAY_OK;
}

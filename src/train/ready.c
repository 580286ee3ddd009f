/* ready.c - a plan of a training step that runs by itself, for measuring. */
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "train/train.h"

static assay_status no_memory(assay_env *env)
{
    return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory for the examples and weights to measure with");
}

/* The memory of a given input lies in the plan's arena: dropping the tensor frees nothing. */
static assay_status give(assay_env *env, assay_plan *plan, const char *name, as_view *out)
{
    const as_graph *g = &plan->graph;
    *out = (as_view){0};
    for (int i = 0; i < g->n_inputs; i++) {
        const as_bound_value *v = &g->values[g->inputs[i]];
        if (strcmp(v->name, name))
            continue;
        void *data = as_arena_take(&plan->arena, (size_t)as_shape_count(&v->info.shape) + 1, as_dtype_bytes(v->info.dtype), 64);
        if (!data)
            return no_memory(env);
        *out = as_view_of(data, v->info.dtype, &v->info.shape);
        plan->given[i] = (as_given){.tensor = {.view = *out}, .path = "a training step to measure"};
    }
    return ASSAY_OK;
}

static int64_t classes_of(const as_train_graph *graph, const assay_plan *plan)
{
    for (int i = 0; i < plan->graph.n_values; i++)
        if (!strcmp(plan->graph.values[i].name, graph->loss_of)) {
            const as_shape *s = &plan->graph.values[i].info.shape;
            return s->dim[s->rank == 3 ? 2 : 1];
        }
    return 1;
}

/* Labels for classes, probabilities for bce, otherwise numbers around 0. */
static assay_status target_give(assay_env *env, const as_train_graph *graph, uint64_t seed, assay_plan *plan)
{
    as_view  target;
    int64_t  classes = graph->has_labels ? classes_of(graph, plan) : 0;
    uint64_t key = as_hash64(AS_TRAIN_TARGET, strlen(AS_TRAIN_TARGET));
    AS_TRY(give(env, plan, AS_TRAIN_TARGET, &target));
    for (int64_t i = 0; target.data && i < as_shape_count(&target.shape); i++) {
        double x = (double)as_philox_uniform(seed, (uint32_t)key, 0, (uint64_t)i);
        if (graph->has_labels)
            as_view_set_i64(&target, i, (int64_t)(x * (double)classes) % classes);
        else
            as_view_set(&target, i, !strcmp(graph->loss, "bce") ? x : 2 * x - 1);
    }
    return ASSAY_OK;
}

static assay_status number_give(assay_env *env, assay_plan *plan, const char *name, double x)
{
    as_view v;
    AS_TRY(give(env, plan, name, &v));
    for (int64_t i = 0; v.data && i < as_shape_count(&v.shape); i++)
        as_view_set(&v, i, x);
    return ASSAY_OK;
}

static assay_status variables_fill(assay_env *env, const as_train_graph *graph, assay_plan *plan)
{
    float *block = AS_TAKE(&plan->arena, float, graph->n_elements);
    if (!block)
        return no_memory(env);
    for (int i = 0; i < graph->n_parts; i++)
        memcpy(block + graph->parts[i].begin, graph->parts[i].data, (size_t)graph->parts[i].count * sizeof *block);
    plan->variables[0].initial = as_view_of(block, AS_F32, &AS_SHAPE(graph->n_elements));
    for (int i = 0; i < graph->n_states; i++) {
        as_variable          *v = &plan->variables[1 + i];
        const as_tensor_info *info = &plan->graph.values[v->value].info;
        if (graph->initial[i] == 0.0)
            continue;
        void *data = as_arena_take(&plan->arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64);
        if (!data)
            return no_memory(env);
        v->initial = as_view_of(data, info->dtype, &info->shape);
        for (int64_t k = 0; k < as_shape_count(&info->shape); k++)
            as_view_set(&v->initial, k, graph->initial[i]);
    }
    return ASSAY_OK;
}

assay_status as_train_plan_ready(assay_env *env, const as_train_graph *graph, uint64_t seed, assay_plan *plan)
{
    AS_TRY(target_give(env, graph, seed, plan));
    AS_TRY(number_give(env, plan, "d:" AS_TRAIN_LOSS, 1));
    AS_TRY(number_give(env, plan, AS_TRAIN_RATES, 0));
    AS_TRY(number_give(env, plan, AS_TRAIN_STEP, 1));
    AS_TRY(number_give(env, plan, AS_TRAIN_KEEP, 0));
    AS_TRY(number_give(env, plan, AS_TRAIN_SCALE, 1));
    return variables_fill(env, graph, plan);
}

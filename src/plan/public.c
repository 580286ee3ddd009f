/* public.c - instances as the public header has them. */
#include <string.h>

#include "plan/plan.h"

size_t assay_instance_n_inputs(const assay_instance *instance) { return (size_t)instance->plan->graph.n_inputs; }
size_t assay_instance_n_outputs(const assay_instance *instance) { return (size_t)instance->plan->graph.n_outputs; }

static assay_status tensor_give(assay_env *env, const char *what, size_t i, int n, const char *name, as_view view,
                                assay_tensor *out)
{
    if (i >= (size_t)n)
        return as_fail(env, ASSAY_BAD_INPUT, "instance: there is no %s %zu: there are %d", what, i, n);
    *out = (assay_tensor){.name = name,
                          .dtype = as_dtype_name(view.dtype),
                          .rank = view.shape.rank,
                          .data = view.data,
                          .bytes = as_view_bytes(&view)};
    memcpy(out->dim, view.shape.dim, (size_t)view.shape.rank * sizeof out->dim[0]);
    return ASSAY_OK;
}

assay_status assay_instance_input(assay_env *env, const assay_instance *instance, size_t i, assay_tensor *out)
{
    const as_graph *g = &instance->plan->graph;
    bool            there = i < (size_t)g->n_inputs;
    return tensor_give(env, "input", i, g->n_inputs, there ? g->values[g->inputs[i]].name : "",
                       there ? as_instance_input(instance, (int)i) : (as_view){0}, out);
}

assay_status assay_instance_output(assay_env *env, const assay_instance *instance, size_t i, assay_tensor *out)
{
    const as_graph *g = &instance->plan->graph;
    bool            there = i < (size_t)g->n_outputs;
    return tensor_give(env, "output", i, g->n_outputs, there ? g->values[g->outputs[i]].name : "",
                       there ? as_instance_output(instance, (int)i) : (as_view){0}, out);
}

/* The buffer whose memory it is. */
static int owner_of(const assay_plan *plan, int buffer)
{
    while (plan->buffers[buffer].alias_of >= 0)
        buffer = plan->buffers[buffer].alias_of;
    return buffer;
}

assay_status assay_instance_bind_input(assay_env *env, assay_instance *instance, const char *name, void *data, size_t bytes)
{
    const assay_plan *plan = instance->plan;
    const as_graph   *g = &plan->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const as_bound_value *value = &g->values[g->inputs[i]];
        if (strcmp(value->name, name))
            continue;
        as_view view = as_instance_input(instance, i);
        if (bytes != as_view_bytes(&view))
            return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s' has %zu bytes, and %zu were given", name,
                           as_view_bytes(&view), bytes);
        if (!data || !as_dtype_aligned(view.dtype, data))
            return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s': the data are not aligned for %s", name,
                           as_dtype_name(view.dtype));
        if (value->info.constant)
            return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s' has the values that the plan was made for", name);
        int input = owner_of(plan, plan->inputs[i]);
        for (int b = 0; b < plan->n_buffers; b++)
            if (owner_of(plan, b) == input)
                instance->slots[b].outside = data;
        return ASSAY_OK;
    }
    return as_fail(env, ASSAY_BAD_INPUT, "instance: the model '%s' has no input '%s'", plan->model->name, name);
}

void assay_instance_fill(const assay_instance *instance, uint64_t seed)
{
    const assay_plan *plan = instance->plan;
    const as_graph   *g = &plan->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        bool bound = instance->slots[owner_of(plan, plan->inputs[i])].outside != NULL;
        if (g->values[g->inputs[i]].info.constant || bound || (plan->given && plan->given[i].path))
            continue;
        as_view view = as_instance_input(instance, i);
        as_input_fill(plan->model, i, seed, &view);
    }
}

assay_status assay_run(assay_env *env, assay_instance *instance) { return as_instance_step(AS_RUN(env), instance); }

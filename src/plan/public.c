/* public.c - the public functions on instances. */
#include <string.h>

#include "plan/given.h"

size_t assay_instance_n_inputs(const assay_instance *instance) { return (size_t)instance->plan->graph.n_inputs; }
size_t assay_instance_n_outputs(const assay_instance *instance) { return (size_t)instance->plan->graph.n_outputs; }

static assay_status tensor_give(assay_env *env, const char *what, size_t i, int n, const char *name, as_view view,
                                assay_tensor *out)
{
    if (i >= (size_t)n)
        return as_fail(env, ASSAY_BAD_INPUT, "instance: there is no %s %zu: the model has %d", what, i, n);
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

static assay_status value_find(assay_env *env, const assay_plan *plan, const char *what, const int *ids, int n, const char *name,
                               int *out)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(plan->graph.values[ids[i]].name, name)) {
            *out = i;
            return ASSAY_OK;
        }
    return as_fail(env, ASSAY_BAD_INPUT, "instance: the model '%s' has no %s '%s'", plan->model->name, what, name);
}

/* An input whose values may be changed. */
static assay_status input_find(assay_env *env, const assay_instance *instance, const char *name, int *out)
{
    const as_graph *g = &instance->plan->graph;
    AS_TRY(value_find(env, instance->plan, "input", g->inputs, g->n_inputs, name, out));
    if (g->values[g->inputs[*out]].info.constant)
        return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s' is fixed to the values that the plan was made for", name);
    return ASSAY_OK;
}

assay_status assay_instance_bind_input(assay_env *env, assay_instance *instance, const char *name, void *data, size_t bytes)
{
    const assay_plan *plan = instance->plan;
    int               i;
    AS_TRY(input_find(env, instance, name, &i));
    as_view view = as_instance_input(instance, i);
    if (bytes != as_view_bytes(&view))
        return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s' needs %zu bytes, but %zu were given", name, as_view_bytes(&view),
                       bytes);
    if (!data || !as_dtype_aligned(view.dtype, data))
        return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s': the data are not aligned for %s", name,
                       as_dtype_name(view.dtype));
    int input = owner_of(plan, plan->inputs[i]);
    for (int b = 0; b < plan->n_buffers; b++)
        if (owner_of(plan, b) == input)
            instance->slots[b].outside = data;
    return ASSAY_OK;
}

/* --- Files ------------------------------------------------------------------------------------------------ */

static bool is_bound(const assay_instance *instance, int i)
{
    return instance->slots[owner_of(instance->plan, instance->plan->inputs[i])].outside != NULL;
}

/* A batch axis of 1 may be left out in a file: a state of [units] is for an input of [1, units]. */
static as_view without_batch(const as_view *v)
{
    as_shape shape = {.rank = v->shape.rank - 1};
    memcpy(shape.dim, v->shape.dim + 1, (size_t)shape.rank * sizeof shape.dim[0]);
    return as_view_of(v->data, v->dtype, &shape);
}

static assay_status input_copy(assay_env *env, const char *name, const char *path, const as_view *from, as_view to)
{
    char want[192], got[192];
    if (to.shape.rank > 1 && to.shape.dim[0] == 1 && from->shape.rank == to.shape.rank - 1)
        to = without_batch(&to);
    if (!as_shape_same(&from->shape, &to.shape))
        return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s': %s has %s, the model needs %s", name, path,
                       as_shape_show(&from->shape, got, sizeof got), as_shape_show(&to.shape, want, sizeof want));
    if (!as_view_fits(from, to.dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s': %s has %s, the model needs %s", name, path,
                       as_dtype_name(from->dtype), as_dtype_name(to.dtype));
    as_view_copy(&to, from);
    return ASSAY_OK;
}

assay_status assay_instance_load_input(assay_env *env, assay_instance *instance, const char *name, const char *path)
{
    int       i;
    as_tensor file;
    AS_TRY(input_find(env, instance, name, &i));
    if (is_bound(instance, i))
        return as_fail(env, ASSAY_BAD_INPUT, "instance: input '%s' is bound to your own data, which %s would overwrite", name,
                       path);
    AS_TRY(as_given_load(env, path, &file));
    assay_status status = input_copy(env, name, path, &file.view, as_instance_input(instance, i));
    as_tensor_drop(&file);
    return status;
}

/* One sequence in, one sequence out: without the batch axis that the file did not have. */
as_view as_instance_answer(const assay_instance *instance, int i)
{
    const assay_plan *plan = instance->plan;
    as_view           v = as_instance_output(instance, i);
    bool              unbatched = plan->model->n_inputs && plan->given && plan->given[0].unbatched;
    return unbatched && v.shape.rank > 1 && v.shape.dim[0] == 1 ? without_batch(&v) : v;
}

assay_status assay_instance_save_output(assay_env *env, const assay_instance *instance, const char *name, const char *path)
{
    const as_graph *g = &instance->plan->graph;
    int             i;
    AS_TRY(value_find(env, instance->plan, "output", g->outputs, g->n_outputs, name, &i));
    as_view v = as_instance_answer(instance, i);
    return as_npy_save(env, path, &v);
}

/* --- Running ---------------------------------------------------------------------------------------------- */

void assay_instance_fill(const assay_instance *instance, uint64_t seed)
{
    const assay_plan *plan = instance->plan;
    const as_graph   *g = &plan->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->values[g->inputs[i]].info.constant || is_bound(instance, i) || (plan->given && plan->given[i].path) ||
            plan->buffers[plan->inputs[i]].role == AS_BUF_VARIABLE) /* begins with its own values, and keeps what runs make of it */
            continue;
        as_view view = as_instance_input(instance, i);
        as_input_fill(plan->model, i, seed, &view);
    }
}

assay_status assay_run(assay_env *env, assay_instance *instance) { return as_instance_step(AS_RUN(env), instance); }

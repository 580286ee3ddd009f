/* variable.c - what an instance owns and its steps may write. */
#include "plan/variable.h"

#include <string.h>

#include "plan/lower.h"

int as_variable_of_value(const assay_plan *plan, int value)
{
    for (int i = 0; i < plan->n_variables; i++)
        if (plan->variables[i].value == value)
            return i;
    return -1;
}

static int output_find(const as_graph *g, const char *name)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (!strcmp(g->values[g->outputs[i]].name, name))
            return i;
    return -1;
}

static int holder_find(const as_graph *g, const char *name, int *input)
{
    *input = -1;
    for (int i = 0; i < g->n_inputs; i++)
        if (!strcmp(g->values[g->inputs[i]].name, name)) {
            *input = i;
            return g->inputs[i];
        }
    for (int i = 0; i < g->n_values; i++)
        if (g->values[i].role == AS_ROLE_PARAM && !strcmp(g->values[i].name, name))
            return i;
    return -1;
}

static assay_status update_check(assay_env *env, const assay_plan *plan, const as_variable *v, const char *output)
{
    const as_graph       *g = &plan->graph;
    const as_bound_value *to = &g->values[v->value];
    char                  a[192], b[192];
    if (v->output < 0)
        return as_fail(env, ASSAY_NOT_FOUND, "plan: the variable '%s' becomes '%s', but the model '%s' has no such output", v->name,
                       output, plan->model->name);
    const as_bound_value *from = &g->values[g->outputs[v->output]];
    if (from->role != AS_ROLE_COMPUTED)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: the variable '%s' becomes '%s', which no step computes", v->name, output);
    if (from->info.dtype != to->info.dtype || as_info_bytes(&from->info) != as_info_bytes(&to->info))
        return as_fail(env, ASSAY_BAD_INPUT, "plan: the variable '%s' is %s%s and becomes '%s', which is %s%s", v->name,
                       as_dtype_name(to->info.dtype), as_shape_show(&to->info.shape, a, sizeof a), output,
                       as_dtype_name(from->info.dtype), as_shape_show(&from->info.shape, b, sizeof b));
    return ASSAY_OK;
}

static assay_status initial_check(assay_env *env, const as_variable *v, const as_tensor_info *info)
{
    char a[192], b[192];
    if (v->initial.data && (v->initial.dtype != info->dtype || !as_shape_same(&v->initial.shape, &info->shape)))
        return as_fail(env, ASSAY_BAD_INPUT, "plan: the variable '%s' is %s%s and begins with %s%s", v->name,
                       as_dtype_name(info->dtype), as_shape_show(&info->shape, a, sizeof a), as_dtype_name(v->initial.dtype),
                       as_shape_show(&v->initial.shape, b, sizeof b));
    return ASSAY_OK;
}

static assay_status declare(assay_env *env, assay_plan *plan, const as_variable_def *def)
{
    as_graph   *g = &plan->graph;
    int         input, value = holder_find(g, def->name, &input);
    as_variable v = {.name = def->name, .value = value, .input = input, .output = -1, .buffer = -1, .initial = def->initial};
    for (int i = 0; i < plan->n_variables; i++)
        if (!strcmp(plan->variables[i].name, def->name))
            return as_fail(env, ASSAY_BAD_INPUT, "plan: '%s' is declared a variable twice", def->name);
    if (value < 0)
        return as_fail(env, ASSAY_NOT_FOUND, "plan: the model '%s' has no input and no parameter '%s' to be a variable",
                       plan->model->name, def->name);
    as_bound_value *holder = &g->values[value];
    if (holder->info.constant)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: '%s' cannot be a variable, because shapes depend on it", def->name);
    if (def->becomes) {
        v.output = output_find(g, def->becomes);
        AS_TRY(update_check(env, plan, &v, def->becomes));
    }
    v.name = holder->name; /* lives as long as the plan */
    if (holder->role == AS_ROLE_PARAM) {
        union {
            const void *given;
            void       *view;
        } data = {holder->data}; /* only read */
        if (!v.initial.data && !def->zeros)
            v.initial = as_view_of(data.view, holder->info.dtype, &holder->info.shape);
        holder->role = AS_ROLE_INPUT;
        holder->data = NULL;
    } else if (!v.initial.data && plan->given && plan->given[input].path) {
        v.initial = plan->given[input].tensor.view;
    }
    AS_TRY(initial_check(env, &v, &holder->info));
    plan->variables[plan->n_variables++] = v;
    return ASSAY_OK;
}

assay_status as_variables_declare(assay_env *env, assay_plan *plan, const as_variable_def *defs, int n)
{
    plan->variables = AS_TAKE(&plan->arena, as_variable, n);
    if (n && !plan->variables)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for %d variables", n);
    for (int i = 0; i < n; i++)
        AS_TRY(declare(env, plan, &defs[i]));
    return ASSAY_OK;
}

/* --- In an instance ------------------------------------------------------------------------------------ */

as_view as_instance_variable(const assay_instance *instance, int i)
{
    const as_buffer *b = &instance->plan->buffers[instance->plan->variables[i].buffer];
    return as_view_of(as_slot_host(&instance->bindings[0], instance->plan->variables[i].buffer), b->dtype, &b->shape);
}

void as_instance_reset(assay_instance *instance)
{
    for (int i = 0; i < instance->plan->n_variables; i++) {
        as_view        to = as_instance_variable(instance, i);
        const as_view *from = &instance->plan->variables[i].initial;
        if (!as_view_bytes(&to))
            continue;
        if (!from->data)
            memset(to.data, 0, as_view_bytes(&to));
        else if (as_view_contiguous(from))
            memcpy(to.data, from->data, as_view_bytes(&to)); /* at any address: a file may hold it */
        else
            as_view_copy(&to, from);
    }
    instance->step = 0;
}

static assay_status find(assay_env *env, const assay_instance *instance, const char *name, const as_view *other, as_view *out)
{
    const assay_plan *plan = instance->plan;
    char              a[192], b[192];
    for (int i = 0; i < plan->n_variables; i++) {
        if (strcmp(plan->variables[i].name, name))
            continue;
        *out = as_instance_variable(instance, i);
        if (other->dtype == out->dtype && as_shape_same(&other->shape, &out->shape))
            return ASSAY_OK;
        return as_fail(env, ASSAY_BAD_INPUT, "instance: the variable '%s' is %s%s, not %s%s", name, as_dtype_name(out->dtype),
                       as_shape_show(&out->shape, a, sizeof a), as_dtype_name(other->dtype),
                       as_shape_show(&other->shape, b, sizeof b));
    }
    return as_fail(env, ASSAY_NOT_FOUND, "instance: the plan of '%s' has no variable '%s'", plan->model->name, name);
}

assay_status as_instance_get(assay_env *env, const assay_instance *instance, const char *name, const as_view *out)
{
    as_view from;
    AS_TRY(find(env, instance, name, out, &from));
    as_view_copy(out, &from);
    return ASSAY_OK;
}

assay_status as_instance_set(assay_env *env, assay_instance *instance, const char *name, const as_view *view)
{
    as_view to;
    AS_TRY(find(env, instance, name, view, &to));
    as_view_copy(&to, view);
    return ASSAY_OK;
}

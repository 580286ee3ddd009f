/* given.c - npy and .pb files for the inputs of a model. */
#include "plan/given.h"

#include <float.h>
#include <string.h>

#include "model/onnx/onnx.h"
#include "plan/plan.h"

static const as_value *input_of(const assay_plan *plan, int i) { return &plan->model->values[plan->model->inputs[i]]; }

static bool is_symbol(const as_dim *dim, const char *symbol) { return dim->symbol && !strcmp(dim->symbol, symbol); }

/* A network over sequences also takes a single sequence without a batch axis, as torch does: x [seq, inputs], time spans [seq], a
 * state [units]. */
static bool is_over_sequences(const assay_model *model)
{
    const as_dims *dims = model->n_inputs ? &model->values[model->inputs[0]].dims : NULL;
    return dims && dims->rank >= 2 && is_symbol(&dims->dim[0], "batch") && is_symbol(&dims->dim[1], "seq");
}

static void batch_add(as_given *given)
{
    as_view *v = &given->tensor.view;
    memmove(v->shape.dim + 1, v->shape.dim, (size_t)v->shape.rank * sizeof v->shape.dim[0]);
    memmove(v->stride + 1, v->stride, (size_t)v->shape.rank * sizeof v->stride[0]);
    v->shape.dim[0] = 1;
    v->stride[0] = 0;
    v->shape.rank++;
    given->unbatched = true;
}

assay_status as_given_load(assay_env *env, const char *path, as_tensor *out)
{
    size_t length = strlen(path);
    bool   is_pb = length > 3 && !strcmp(path + length - 3, ".pb");
    return is_pb ? as_pb_tensor_load(env, path, out) : as_npy_load(env, path, out);
}

static assay_status file_read(assay_env *env, assay_plan *plan, int i, const char *path)
{
    as_given *given = &plan->given[i];
    if (!(path = as_arena_text(&plan->arena, path)))
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the name of a file");
    AS_TRY(as_given_load(env, path, &given->tensor));
    given->path = path;
    const as_dims *wanted = &input_of(plan, i)->dims;
    if (is_over_sequences(plan->model) && given->tensor.view.shape.rank == wanted->rank - 1 && is_symbol(&wanted->dim[0], "batch"))
        batch_add(given);
    return ASSAY_OK;
}

/* A time span is the duration of a step: negative values or NaN would give meaningless answers. */
static assay_status timespans_read(assay_env *env, const as_plan_options *o, assay_plan *plan, const bool *taken)
{
    const char *path = o->timespans;
    int         i = as_timespans_find(plan->model);
    if (!path || (o->stream && !strcmp(path, "stdin"))) /* they come with the samples */
        return ASSAY_OK;
    if (i < 0)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --timespans %s: the model '%s' has no input `timespans`", path,
                       plan->model->name);
    if (taken[i])
        return as_fail(env, ASSAY_BAD_INPUT, "plan: --timespans %s and --input timespans=... are both given; give one", path);
    AS_TRY(file_read(env, plan, i, path));
    as_view *v = &plan->given[i].tensor.view;
    if (v->shape.rank == input_of(plan, i)->dims.rank + 1 && v->shape.dim[v->shape.rank - 1] == 1)
        v->shape.rank--; /* [batch, seq, 1], as some write them */
    return ASSAY_OK;
}

static assay_status timespans_check(assay_env *env, const assay_plan *plan)
{
    int i = as_timespans_find(plan->model);
    if (i < 0 || !plan->given[i].path)
        return ASSAY_OK;
    const as_view *v = &plan->given[i].tensor.view;
    for (int64_t k = 0; k < as_shape_count(&v->shape); k++) {
        double span = as_view_get(v, k);
        if (!(span >= 0 && span <= DBL_MAX))
            return as_fail(env, ASSAY_BAD_INPUT, "plan: %s: time span %lld is %g, but must be 0 or more", plan->given[i].path,
                           (long long)k, span);
    }
    return ASSAY_OK;
}

static assay_status states_read(assay_env *env, const as_plan_options *o, assay_plan *plan, bool *taken)
{
    as_state_pair pairs[AS_MAX_STATES];
    const char   *names[AS_MAX_STATES];
    bool          has[AS_MAX_STATES] = {false};
    int           n = as_state_find(plan->model, pairs, AS_MAX_STATES);
    for (int k = 0; k < n; k++) {
        names[k] = input_of(plan, pairs[k].input)->name;
        has[k] = taken[pairs[k].input];
    }
    for (size_t k = 0; k < o->states_in.n; k++) {
        int         i;
        const char *path, *text = o->states_in.items[k];
        if (!n)
            return as_fail(env, ASSAY_BAD_INPUT, "plan: --state-in %s: the model '%s' has no state input such as h0", text,
                           plan->model->name);
        AS_TRY(as_option_named(env, "state-in", text, names, n, has, &i, &path));
        AS_TRY(file_read(env, plan, pairs[i].input, path));
        has[i] = true;
    }
    return ASSAY_OK;
}

assay_status as_given_read(assay_env *env, const as_plan_options *o, assay_plan *plan)
{
    int          n = plan->model->n_inputs;
    const char **names = AS_TAKE(&plan->arena, const char *, n);
    bool        *taken = AS_TAKE(&plan->arena, bool, n);
    as_given    *given = AS_TAKE(&plan->arena, as_given, n);
    if (!names || !taken || !given)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the names of %d inputs", n);
    plan->given = given;
    for (int i = 0; i < n; i++)
        names[i] = input_of(plan, i)->name;
    for (size_t k = 0; k < o->inputs.n; k++) {
        int         i;
        const char *path;
        AS_TRY(as_option_named(env, "input", o->inputs.items[k], names, n, taken, &i, &path));
        AS_TRY(file_read(env, plan, i, path));
        taken[i] = true;
    }
    AS_TRY(timespans_read(env, o, plan, taken));
    AS_TRY(states_read(env, o, plan, taken));
    return timespans_check(env, plan);
}

void as_given_drop(assay_plan *plan)
{
    for (int i = 0; plan->given && i < plan->model->n_inputs; i++)
        if (plan->given[i].path)
            as_tensor_drop(&plan->given[i].tensor);
}

int as_given_dims(const assay_plan *plan, bool but_batch, as_binding_dim *dims, int n_dims)
{
    for (int i = 0; i < plan->model->n_inputs; i++) {
        const as_dims  *wanted = &input_of(plan, i)->dims;
        const as_shape *shape = &plan->given[i].tensor.view.shape;
        if (!plan->given[i].path || shape->rank != wanted->rank)
            continue; /* binding reports another rank */
        for (int axis = 0; axis < shape->rank; axis++) {
            const char *symbol = wanted->dim[axis].symbol;
            int         k = 0;
            if (!symbol || (but_batch && !strcmp(symbol, "batch")))
                continue;
            while (k < n_dims && strcmp(dims[k].symbol, symbol))
                k++;
            if (k == n_dims)
                dims[n_dims++] = (as_binding_dim){symbol, shape->dim[axis]};
        }
    }
    return n_dims;
}

assay_status as_given_known(assay_env *env, assay_plan *plan, const as_known_input **out, int *n_out)
{
    as_known_input *known = AS_TAKE(&plan->arena, as_known_input, plan->model->n_inputs);
    int             n = 0;
    if (!known)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the values of %d inputs", plan->model->n_inputs);
    for (int i = 0; i < plan->model->n_inputs; i++)
        if (plan->given[i].path)
            known[n++] = (as_known_input){input_of(plan, i)->name, plan->given[i].tensor.view, plan->given[i].path};
    *out = known;
    *n_out = n;
    return ASSAY_OK;
}

/* given.c - npy and .pb files for the inputs of a model. */
#include "plan/given.h"

#include <string.h>

#include "base/options.h"
#include "model/onnx.h"

static const as_value *input_of(const assay_plan *plan, int i) { return &plan->model->values[plan->model->inputs[i]]; }

assay_status as_given_read(assay_env *env, assay_options *options, assay_plan *plan)
{
    int          n = plan->model->n_inputs;
    const char **names = AS_TAKE(&plan->arena, const char *, n);
    bool        *taken = AS_TAKE(&plan->arena, bool, n);
    as_given    *given = AS_TAKE(&plan->arena, as_given, n);
    if (!names || !taken || !given)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: no room for the names of %d inputs", n);
    plan->given = given;
    for (int i = 0; i < n; i++)
        names[i] = input_of(plan, i)->name;
    for (size_t k = 0; k < as_options_many(options, "input"); k++) {
        int         i;
        const char *path;
        AS_TRY(as_option_named(env, "input", as_options_item(options, "input", k), names, n, taken, &i, &path));
        size_t length = strlen(path);
        bool   is_pb = length > 3 && !strcmp(path + length - 3, ".pb");
        if (!(path = as_arena_text(&plan->arena, path)))
            return as_fail(env, ASSAY_NO_MEMORY, "plan: no room for the name of a file");
        AS_TRY(is_pb ? as_pb_tensor_load(env, path, &given[i].tensor) : as_npy_load(env, path, &given[i].tensor));
        given[i].path = path;
        taken[i] = true;
    }
    return ASSAY_OK;
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
            continue; /* binding has the sentence for another rank */
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
        return as_fail(env, ASSAY_NO_MEMORY, "plan: no room for the values of %d inputs", plan->model->n_inputs);
    for (int i = 0; i < plan->model->n_inputs; i++)
        if (plan->given[i].path)
            known[n++] = (as_known_input){input_of(plan, i)->name, plan->given[i].tensor.view, plan->given[i].path};
    *out = known;
    *n_out = n;
    return ASSAY_OK;
}

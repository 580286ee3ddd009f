/* weights.c - parameters from a safetensors file: all or nothing, by name; every difference is reported. */
#include <stdlib.h>
#include <string.h>

#include "model/graph/maker.h"

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const as_named_view *const *)a)->name, (*(const as_named_view *const *)b)->name);
}

static const as_named_view *find(const as_named_view *const *sorted, size_t n, const char *name)
{
    as_named_view        wanted = {.name = name};
    const as_named_view *key = &wanted, *const *found = n ? bsearch(&key, sorted, n, sizeof *sorted, by_name) : NULL;
    return found ? *found : NULL;
}

static assay_status fits(assay_env *env, const char *path, const as_value *param, const as_view *view)
{
    char     has[192], wants[192];
    as_shape shape = as_shape_of_dims(&param->dims);
    if (!as_shape_same(&view->shape, &shape))
        return as_fail(env, ASSAY_BAD_INPUT, "weights: %s: tensor '%s' is %s and the parameter is %s", path, param->name,
                       as_shape_show(&view->shape, has, sizeof has), as_shape_show(&shape, wants, sizeof wants));
    if (view->dtype != param->dtype && !(param->dtype == AS_F32 && as_dtype_is_float(view->dtype)))
        return as_fail(env, ASSAY_BAD_INPUT, "weights: %s: tensor '%s' is %s %s and the parameter is %s %s", path, param->name,
                       as_dtype_name(view->dtype), as_shape_show(&view->shape, has, sizeof has), as_dtype_name(param->dtype),
                       as_shape_show(&shape, wants, sizeof wants));
    return ASSAY_OK;
}

/* The bytes to use: the mapping itself if possible, otherwise a copy. */
static const void *data_of(as_arena *arena, const as_value *param, const as_view *view)
{
    if (view->dtype == param->dtype && param->dtype != AS_BOOL && as_view_contiguous(view) &&
        (uintptr_t)view->data % as_dtype_bytes(view->dtype) == 0)
        return view->data;
    void *data = as_arena_take(arena, (size_t)as_shape_count(&view->shape), as_dtype_bytes(param->dtype), 64);
    if (data) {
        as_view copy = as_view_of(data, param->dtype, &view->shape);
        as_view_copy(&copy, view);
    }
    return data;
}

/* Files from other tools also contain tensors that are fixed here (the masks of a wiring): these must equal the model's. */
static assay_status constants_check(assay_env *env, const assay_model *model, const char *path, const as_named_view *const *sorted,
                                    const as_safetensors *file, bool *used)
{
    for (int i = 0; i < model->n_values; i++) {
        const as_value      *v = &model->values[i];
        const as_named_view *item = v->role == AS_ROLE_CONSTANT && v->data ? find(sorted, file->n_items, v->name) : NULL;
        if (!item)
            continue;
        as_shape shape = as_shape_of_dims(&v->dims);
        as_view  own = as_view_of((void *)(uintptr_t)v->data, v->dtype, &shape);
        int64_t  count = as_shape_count(&shape), k = 0;
        if (!as_shape_same(&shape, &item->view.shape))
            return as_fail(env, ASSAY_BAD_INPUT, "weights: %s: tensor '%s' is %s and the constant of model %s is %s", path, v->name,
                           as_shape_show(&item->view.shape, (char[192]){0}, 192), model->name,
                           as_shape_show(&shape, (char[192]){0}, 192));
        while (k < count && as_view_get(&own, k) == as_view_get(&item->view, k))
            k++;
        if (k < count)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "weights: %s: tensor '%s' has %g as element %lld and the constant of model %s has %g", path, v->name,
                           as_view_get(&item->view, k), (long long)k, model->name, as_view_get(&own, k));
        used[item - file->items] = true;
    }
    return ASSAY_OK;
}

/* New data for each wanted param in data[], NULL for the others; checks everything before anything changes. */
static assay_status match(assay_env *env, assay_model *model, const char *path, bool only_empty, const as_safetensors *file,
                          as_arena *scratch, const void ***out)
{
    const as_named_view **sorted = AS_TAKE(scratch, const as_named_view *, file->n_items);
    const void          **data = AS_TAKE(scratch, const void *, model->n_values);
    bool                 *used = AS_TAKE(scratch, bool, file->n_items);
    if (!sorted || !data || !used)
        return as_fail(env, ASSAY_NO_MEMORY, "weights: %s: not enough memory for %zu names", path, file->n_items);
    for (size_t i = 0; i < file->n_items; i++)
        sorted[i] = &file->items[i];
    if (file->n_items)
        qsort(sorted, file->n_items, sizeof *sorted, by_name);
    for (int i = 0; i < model->n_values; i++) {
        const as_value *param = &model->values[i];
        if (param->role != AS_ROLE_PARAM || (only_empty && param->data))
            continue;
        const as_named_view *item = find((const as_named_view *const *)sorted, file->n_items, param->name);
        as_shape             shape = as_shape_of_dims(&param->dims);
        if (!item)
            return as_fail(env, ASSAY_BAD_INPUT, "weights: %s: there is no tensor '%s' for the parameter of that name, %s %s", path,
                           param->name, as_dtype_name(param->dtype), as_shape_show(&shape, (char[192]){0}, 192));
        AS_TRY(fits(env, path, param, &item->view));
        used[item - file->items] = true;
        if (!(data[i] = data_of(&model->arena, param, &item->view)))
            return as_fail(env, ASSAY_NO_MEMORY, "weights: %s: not enough memory to convert tensor '%s'", path, param->name);
    }
    AS_TRY(constants_check(env, model, path, (const as_named_view *const *)sorted, file, used));
    for (size_t i = 0; i < file->n_items; i++)
        if (!used[i])
            return as_fail(env, ASSAY_BAD_INPUT, "weights: %s: tensor '%s', %s %s, belongs to no parameter of model %s%s", path,
                           file->items[i].name, as_dtype_name(file->items[i].view.dtype),
                           as_shape_show(&file->items[i].view.shape, (char[192]){0}, 192), model->name,
                           only_empty ? " that leaves its values to this file" : "");
    *out = data;
    return ASSAY_OK;
}

assay_status as_model_weights(assay_env *env, assay_model *model, const char *path, bool only_empty)
{
    as_safetensors file;
    as_arena       scratch = {0};
    const void   **data = NULL;
    AS_TRY(as_safetensors_load(env, path, &file));
    assay_status status = match(env, model, path, only_empty, &file, &scratch, &data);
    if (status == ASSAY_OK) {
        for (int i = 0; i < model->n_values; i++)
            if (data[i])
                model->values[i].data = data[i];
        /* Every param that pointed into an older file points into this one now. */
        as_safetensors_drop(&model->weights);
        model->weights = file;
    } else {
        as_safetensors_drop(&file);
    }
    as_arena_drop(&scratch);
    return status;
}

/* feed.c - matches fields of data with inputs of a network. */
#include "train/feed.h"

#include <string.h>

static bool is_state(const assay_model *m, int input)
{
    as_state_pair pairs[AS_MAX_STATES];
    int           n = as_state_find(m, pairs, AS_MAX_STATES);
    for (int i = 0; i < n; i++)
        if (pairs[i].input == input)
            return true;
    return false;
}

static assay_status refuse(assay_env *env, const assay_model *m, const as_data *data, const as_value *v, const as_data_field *field)
{
    char has[160], wants[160] = "";
    for (int i = 0; i < v->dims.rank; i++) {
        size_t n = strlen(wants);
        if (v->dims.dim[i].symbol)
            snprintf(wants + n, sizeof wants - n, "%s%s", i ? "," : "", v->dims.dim[i].symbol);
        else
            snprintf(wants + n, sizeof wants - n, "%s%lld", i ? "," : "", (long long)v->dims.dim[i].size);
    }
    return as_fail(env, ASSAY_BAD_INPUT, "train: an example of %s has '%s' of shape %s, but the input '%s' of %s is [%s]",
                   as_data_spec(data), field->name, as_shape_show(&field->shape, has, sizeof has), v->name, m->name, wants);
}

/* The shape of one example: the batch axis, which is the first, left out.  Symbols take the sizes of the data where ranks agree. */
static assay_status input_match(assay_env *env, const assay_model *m, const as_data *data, int input, const as_data_field *field,
                                as_feed *f)
{
    const as_value *v = &m->values[m->inputs[input]];
    as_shape        s = {.rank = v->dims.rank ? v->dims.rank - 1 : 0};
    for (int i = 0; i < s.rank; i++) {
        const as_dim *dim = &v->dims.dim[i + 1];
        s.dim[i] = dim->size;
        if (!dim->symbol)
            continue;
        if (s.rank != field->shape.rank)
            return refuse(env, m, data, v, field);
        s.dim[i] = field->shape.dim[i];
        char text[64];
        snprintf(text, sizeof text, "%s=%lld", dim->symbol, (long long)s.dim[i]);
        bool known = false;
        for (int k = 0; k < f->n_dims; k++)
            known |= !strcmp(f->dims[k], text);
        if (!known && f->n_dims == (int)AS_COUNT(f->dims))
            return refuse(env, m, data, v, field);
        if (!known)
            memcpy(f->dims[f->n_dims++], text, sizeof text);
    }
    if (as_shape_count(&s) != as_shape_count(&field->shape))
        return refuse(env, m, data, v, field);
    f->shape[input] = s;
    return ASSAY_OK;
}

assay_status as_feed_make(assay_env *env, const assay_model *model, const as_data *data, as_feed *out)
{
    as_feed f = {.n_inputs = model->n_inputs};
    bool    used[AS_DATA_MAX_INPUTS] = {false};
    int     n = as_data_inputs(data), timespans = as_timespans_find(model);
    if (model->n_inputs > AS_FEED_MOST)
        return as_fail(env, ASSAY_UNSUPPORTED, "train: %s has %d inputs; at most %d are possible", model->name, model->n_inputs,
                       AS_FEED_MOST);
    if (!as_data_target(data))
        return as_fail(env, ASSAY_BAD_INPUT, "train: %s has no target to learn", as_data_spec(data));
    for (int i = 0; i < model->n_inputs; i++) {
        const char *name = model->values[model->inputs[i]].name;
        f.field[i] = -1;
        for (int k = 0; k < n; k++)
            if (!strcmp(name, as_data_input(data, k)->name) ||
                (i == timespans && !strcmp("timespans", as_data_input(data, k)->name))) {
                f.field[i] = k;
                used[k] = true;
            }
    }
    for (int i = 0; i < model->n_inputs; i++)
        for (int k = 0; k < n && f.field[i] < 0 && i != timespans && !is_state(model, i); k++)
            if (!used[k] && strcmp("timespans", as_data_input(data, k)->name)) {
                f.field[i] = k;
                used[k] = true;
            }
    for (int i = 0; i < model->n_inputs; i++) {
        if (f.field[i] < 0 && i != timespans && !is_state(model, i))
            return as_fail(env, ASSAY_BAD_INPUT, "train: %s has nothing for the input '%s' of %s", as_data_spec(data),
                           model->values[model->inputs[i]].name, model->name);
        if (f.field[i] >= 0)
            AS_TRY(input_match(env, model, data, i, as_data_input(data, f.field[i]), &f));
    }
    *out = f;
    return ASSAY_OK;
}

static as_view shaped(const as_view *from, int64_t n, const as_shape *example)
{
    as_shape s = {.rank = example->rank + 1, .dim = {n}};
    for (int i = 0; i < example->rank; i++)
        s.dim[i + 1] = example->dim[i];
    return as_view_of(from->data, from->dtype, &s);
}

void as_feed_views(const as_feed *f, const as_batch *batch, as_view *inputs)
{
    for (int i = 0; i < f->n_inputs; i++)
        inputs[i] = f->field[i] < 0 ? (as_view){.data = NULL} : shaped(&batch->input[f->field[i]], batch->n, &f->shape[i]);
}

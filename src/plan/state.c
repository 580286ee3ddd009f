/* state.c - inputs that are not data: states and time spans, recognised by their names. */
#include "plan/plan.h"

#include <string.h>

/* An input and an output of a pair: the text before and after the part that both names share. */
typedef struct pattern {
    const char *in_before, *in_after, *out_before, *out_after;
} pattern;
static const pattern patterns[] = {
    {"", "0", "", "_n"}, /* torch's names for the states of a recurrent layer */
    {"", "_in", "", "_out"},
    {"initial_", "", "Y_", ""}, /* ONNX's */
};

/* The shared part of the name; NULL when the name is not of the form.  *n gets its length. */
static const char *shared(const char *name, const char *before, const char *after, size_t *n)
{
    size_t length = strlen(name), n_before = strlen(before), n_after = strlen(after);
    if (length <= n_before + n_after || memcmp(name, before, n_before) || memcmp(name + length - n_after, after, n_after))
        return NULL;
    *n = length - n_before - n_after;
    return name + n_before;
}

static bool is_pair(const char *input, const char *output)
{
    for (size_t i = 0; i < AS_COUNT(patterns); i++) {
        size_t      n, m;
        const char *a = shared(input, patterns[i].in_before, patterns[i].in_after, &n);
        const char *b = shared(output, patterns[i].out_before, patterns[i].out_after, &m);
        if (a && b && n == m && !memcmp(a, b, n))
            return true;
    }
    return false;
}

int as_state_find(const assay_model *model, as_state_pair *pairs, int max)
{
    int n = 0;
    for (int i = 0; i < model->n_inputs; i++)
        for (int k = 0; k < model->n_outputs && n < max; k++)
            if (is_pair(model->values[model->inputs[i]].name, model->values[model->outputs[k]].name)) {
                pairs[n++] = (as_state_pair){i, k};
                break;
            }
    return n;
}

int as_state_outputs(const assay_model *model, int *outputs)
{
    as_state_pair pairs[AS_MAX_STATES];
    int           n_pairs = as_state_find(model, pairs, AS_MAX_STATES), n = 0;
    for (int i = 0; i < model->n_outputs && n < AS_MAX_STATES; i++) {
        size_t length;
        bool   is_state = shared(model->values[model->outputs[i]].name, "", "_n", &length) != NULL;
        for (int k = 0; k < n_pairs; k++)
            is_state |= pairs[k].output == i;
        if (is_state)
            outputs[n++] = i;
    }
    return n;
}

int as_state_variables(const assay_model *model, as_variable_def *defs)
{
    as_state_pair pairs[AS_MAX_STATES];
    int           n = as_state_find(model, pairs, AS_MAX_STATES);
    for (int i = 0; i < n; i++)
        defs[i] = (as_variable_def){.name = model->values[model->inputs[pairs[i].input]].name,
                                    .becomes = model->values[model->outputs[pairs[i].output]].name};
    return n;
}

int as_timespans_find(const assay_model *model)
{
    for (int i = 0; i < model->n_inputs; i++)
        if (!strcmp(model->values[model->inputs[i]].name, "timespans"))
            return i;
    return -1;
}

void as_input_fill(const assay_model *model, int input, uint64_t seed, const as_view *view)
{
    as_state_pair pairs[AS_MAX_STATES];
    int           n = as_state_find(model, pairs, AS_MAX_STATES);
    bool          is_state = false, is_time = input == as_timespans_find(model);
    for (int i = 0; i < n; i++)
        is_state |= pairs[i].input == input;
    if (!is_state && !is_time) {
        as_random_input(seed, model->values[model->inputs[input]].name, view);
        return;
    }
    for (int64_t i = 0; i < as_shape_count(&view->shape); i++)
        as_view_set(view, i, is_time ? 1.0 : 0.0);
}

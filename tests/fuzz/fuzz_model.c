/* fuzz_model.c - any bytes as a JSON model file: refused with a sentence, or a model that binds or says why not, whose
 * gradient does the same, and that evaluates when it is small. */
#include <stdlib.h>
#include <string.h>

#include "model/json/fmt_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_PARAM_BYTES = 1 << 16, MAX_ELEMENTS = 1 << 12, MAX_SYMBOLS = 8, BATCH = 2 };

static void check(const assay_env *env, assay_status status)
{
    if (status != ASSAY_OK && !*assay_message(env))
        abort(); /* a refusal without a sentence */
}

static int symbols_bind(const assay_model *model, as_binding_dim *dims)
{
    int n = 0;
    for (int i = 0; i < model->n_inputs; i++)
        for (int k = 0; k < model->values[model->inputs[i]].dims.rank; k++) {
            const char *symbol = model->values[model->inputs[i]].dims.dim[k].symbol;
            if (symbol && n < MAX_SYMBOLS)
                dims[n++] = (as_binding_dim){symbol, BATCH};
        }
    return n;
}

/* Every tensor is small, so that a slow operator is not taken for a hang.  Kernels and windows come from tensors or from
 * attributes, which operators hold against them. */
static bool is_small(const as_graph *g)
{
    for (int i = 0; i < g->n_values; i++)
        if (as_shape_count(&g->values[i].info.shape) > MAX_ELEMENTS)
            return false;
    return g->n_nodes <= 64;
}

static as_view *views_make(as_arena *arena, const as_graph *g, const int *ids, int n)
{
    as_view *views = AS_TAKE(arena, as_view, n);
    for (int i = 0; views && i < n; i++) {
        const as_tensor_info *info = &g->values[ids[i]].info;
        void                 *memory = as_arena_take(arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 8);
        if (!memory)
            return NULL;
        views[i] = as_view_of(memory, info->dtype, &info->shape);
    }
    return views;
}

static void evaluate(assay_env *env, as_arena *arena, const as_graph *g)
{
    as_view *inputs = views_make(arena, g, g->inputs, g->n_inputs), *outputs = views_make(arena, g, g->outputs, g->n_outputs);
    if (!inputs || !outputs)
        return;
    for (int i = 0; i < g->n_inputs; i++)
        as_random_input(1, g->values[g->inputs[i]].name, &inputs[i]);
    check(env, as_graph_eval(env, g, inputs, outputs));
}

static void gradient(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims)
{
    const char  *wrt[1];
    assay_model *back;
    for (int i = 0; i < model->n_values; i++) {
        if (model->values[i].role != AS_ROLE_INPUT && model->values[i].role != AS_ROLE_PARAM)
            continue;
        wrt[0] = model->values[i].name;
        assay_status status = as_model_grad(env, model, dims, n_dims, wrt, 1, &back);
        check(env, status);
        if (status == ASSAY_INTERNAL)
            abort(); /* a rule of ours that gives a wrong shape */
        if (status == ASSAY_OK)
            assay_model_free(back);
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env *env; /* kept over all inputs: only its message changes */
    if (!env && assay_env_new(&env) != ASSAY_OK)
        abort();
    assay_model *model = NULL;
    env->message[0] = '\0';
    assay_status status = as_model_json_parse_max(env, "fuzz.json", (const char *)data, size, 1, MAX_PARAM_BYTES, &model);
    check(env, status);
    if (status != ASSAY_OK)
        return 0;
    as_binding_dim dims[MAX_SYMBOLS];
    int            n_dims = symbols_bind(model, dims);
    as_arena       arena = {0};
    as_graph       g;
    env->message[0] = '\0';
    status = as_graph_bind(env, model, dims, n_dims, NULL, 0, 1, &arena, &g);
    check(env, status);
    if (status == ASSAY_OK && is_small(&g)) {
        evaluate(env, &arena, &g);
        gradient(env, model, dims, n_dims);
    }
    as_arena_drop(&arena);
    assay_model_free(model);
    return 0;
}

/* fuzz_onnx.c - any bytes as an ONNX model and as a tensor file: refused with a sentence, or a model that binds or says why
 * not, and that the writer can write down. */
#include <stdlib.h>
#include <string.h>

#include "model/onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SYMBOLS = 8, SIZE = 2 };

static void check(const assay_env *env, assay_status status)
{
    if (status != ASSAY_OK && !*assay_message(env))
        abort(); /* a refusal without a sentence */
}

static void bind(assay_env *env, const assay_model *model)
{
    as_binding_dim dims[MAX_SYMBOLS];
    int            n = 0;
    for (int i = 0; i < model->n_inputs; i++)
        for (int k = 0; k < model->values[model->inputs[i]].dims.rank; k++) {
            const char *symbol = model->values[model->inputs[i]].dims.dim[k].symbol;
            if (symbol && n < MAX_SYMBOLS)
                dims[n++] = (as_binding_dim){symbol, SIZE};
        }
    as_arena arena = {0};
    as_graph g;
    env->message[0] = '\0';
    check(env, as_graph_bind(env, model, dims, n, NULL, 0, 1, &arena, &g));
    as_arena_drop(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env *env; /* kept over all inputs: only its message changes */
    if (!env && assay_env_new(&env) != ASSAY_OK)
        abort();
    assay_model *model = NULL;
    as_tensor    tensor;
    env->message[0] = '\0';
    assay_status status = as_pb_tensor_parse(env, "fuzz.pb", data, size, &tensor);
    check(env, status);
    if (status == ASSAY_OK)
        as_tensor_drop(&tensor);
    env->message[0] = '\0';
    status = as_onnx_parse(env, "fuzz-no-such-directory/fuzz.onnx", data, size, &model);
    check(env, status);
    if (status != ASSAY_OK)
        return 0;
    bind(env, model);
    env->message[0] = '\0';
    check(env, as_onnx_save(env, model, "/dev/null"));
    assay_model_free(model);
    return 0;
}

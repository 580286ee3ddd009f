/* export.c - a network for other tools: an ONNX file and its parameters as safetensors.
 *
 *     cc export.c $(pkg-config --cflags --libs assay) -o export && ./export mlp-small mlp.onnx mlp.safetensors */
#include <stdio.h>

#include "assay.h"

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    int            code = 2;
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL OUT.onnx OUT.safetensors\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "onnx", argv[2]) == ASSAY_OK &&
        assay_options_set(env, options, "safetensors", argv[3]) == ASSAY_OK &&
        assay_model_load(env, argv[1], options, &model) == ASSAY_OK && assay_export(env, model, options) == ASSAY_OK) {
        printf("wrote %s and %s\n", argv[2], argv[3]);
        code = 0;
    }
    if (code)
        fprintf(stderr, "export: %s\n", assay_message(env));
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}

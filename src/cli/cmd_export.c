/* cmd_export.c - a model in other tools' formats: ONNX, safetensors. */
#include <stdlib.h>

#include "cli/cli.h"
#include "model/onnx.h"

static assay_status params_save(assay_env *env, const assay_model *model, const char *path)
{
    as_named_view *items = calloc((size_t)model->n_values + 1, sizeof *items);
    size_t         n = 0;
    if (!items)
        return as_fail(env, ASSAY_NO_MEMORY, "export: no room for %d names", model->n_values);
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        as_shape        shape = {.rank = v->dims.rank};
        if (v->role != AS_ROLE_PARAM)
            continue;
        for (int k = 0; k < shape.rank; k++)
            shape.dim[k] = v->dims.dim[k].size;
        items[n++] = (as_named_view){.name = v->name, .view = as_view_of((void *)v->data, v->dtype, &shape)};
    }
    assay_status status = as_safetensors_save(env, path, items, n);
    free(items);
    return status;
}

static assay_status run(as_cli *cli)
{
    const char *onnx = as_options_text(cli->options, "onnx"), *safetensors = as_options_text(cli->options, "safetensors");
    if (!onnx && !safetensors)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "nothing to write: give --onnx FILE or --safetensors FILE");
    assay_model *model = NULL;
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &model));
    assay_status status = onnx ? as_onnx_save(cli->env, model, onnx) : ASSAY_OK;
    if (status == ASSAY_OK && safetensors)
        status = params_save(cli->env, model, safetensors);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_export = {
    .name = "export", .summary = "a model in other tools' formats: ONNX, safetensors", .usage = "MODEL [options]",
    .details = "Writes MODEL as an ONNX file (opset 20), its parameters as safetensors, or both.  A file that exists is replaced only\n"
               "when the new one is whole.",
    .example = "assay export mlp-small --onnx mlp-small.onnx --safetensors mlp-small.safetensors", .min_args = 1, .max_args = 1, .run = run,
};

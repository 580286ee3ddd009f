/* cmd_export.c - a model in other tools' formats: ONNX, safetensors, C source. */
#include "cli/cli.h"

static assay_status run(as_cli *cli)
{
    assay_model *model;
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &model));
    assay_status status = assay_export(cli->env, model, cli->options);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_export = {
    .name = "export",
    .summary = "write a model for other tools: ONNX, safetensors, C source",
    .usage = "MODEL [options]",
    .details =
        "Writes MODEL as an ONNX file (opset 20), its parameters as safetensors, a liquid network (cfc:, ltc:) as C99 source that\n"
        "stands alone, or several of them.  A file that exists is replaced only when the new one is whole.",
    .example = "assay export mlp-small --onnx mlp-small.onnx --safetensors mlp-small.safetensors",
    .needs = "a MODEL, for example mlp-small",
    .group = AS_VERBS_LOOK,
    .order = 5,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("onnx", "seq", "safetensors", "c", "name", "libm", "weights", "seed"),
    .texts =
        AS_TEXTS({.key = "onnx", .help = "write the model as an ONNX file", .suffixes = ".onnx"},
                 {.key = "seq", .help = "with --onnx: steps that a sequence is written as, where ONNX has no operator for it"}),
    .run = run,
};

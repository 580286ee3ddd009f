/* cmd_export.c - a model in other tools' formats: ONNX, safetensors, C source. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "export/export.h"
#include "model/onnx/onnx.h"

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

static bool has_dim(const assay_model *model, const char *symbol)
{
    for (int i = 0; i < model->n_inputs; i++) {
        const as_dims *dims = &model->values[model->inputs[i]].dims;
        for (int k = 0; k < dims->rank; k++)
            if (dims->dim[k].symbol && !strcmp(dims->dim[k].symbol, symbol))
                return true;
    }
    return false;
}

/* Operators that ONNX does not have are written as those it has: a sequence step by step, so its length must be known. */
static assay_status onnx_save(as_cli *cli, const assay_model *model, const char *path)
{
    as_binding_dim seq = {"seq", as_options_int(cli->options, "seq")};
    bool           has_seq = has_dim(model, "seq"), unroll = as_model_has_composites(model);
    assay_model   *plain = NULL;
    if (as_options_is_set(cli->options, "seq") && (!has_seq || !unroll))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "export: --seq %lld: model %s %s", (long long)seq.size, model->name,
                       has_seq ? "keeps its dimension `seq` open" : "has no dimension `seq`");
    if (!unroll)
        return as_onnx_save(cli->env, model, path);
    AS_TRY(as_model_expand(cli->env, model, &seq, has_seq, &plain));
    assay_status status = as_onnx_save(cli->env, plain, path);
    assay_model_free(plain);
    return status;
}

static assay_status options_check(as_cli *cli, bool *any)
{
    static const char *const c_only[] = {"name", "libm"};
    *any = as_options_is_set(cli->options, "onnx") || as_options_is_set(cli->options, "safetensors");
    for (const as_exporter *const *ex = as_ex_table; *ex; ex++)
        *any |= as_options_is_set(cli->options, (*ex)->key);
    for (size_t i = 0; i < AS_COUNT(c_only); i++)
        if (as_options_is_set(cli->options, c_only[i]) && !as_options_is_set(cli->options, "c"))
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--%s is for --c, which is not given", c_only[i]);
    if (as_options_is_set(cli->options, "seq") && !as_options_is_set(cli->options, "onnx"))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--seq is for --onnx, which is not given");
    return ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    const char       *onnx = as_options_text(cli->options, "onnx"), *safetensors = as_options_text(cli->options, "safetensors");
    bool              any;
    as_export_options o;
    AS_TRY(options_check(cli, &any));
    if (!any)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "nothing to write: give --onnx FILE, --safetensors FILE or --c DIR");
    assay_model *model = NULL;
    AS_TRY(as_export_options_read(cli->env, cli->options, &o));
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &model));
    assay_status status = onnx ? onnx_save(cli, model, onnx) : ASSAY_OK;
    if (status == ASSAY_OK && safetensors)
        status = params_save(cli->env, model, safetensors);
    for (const as_exporter *const *ex = as_ex_table; *ex && status == ASSAY_OK; ex++) {
        const char *path = as_options_text(cli->options, (*ex)->key);
        if (path)
            status = (*ex)->save(cli->env, model, &o, path);
    }
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_export = {
    .name = "export",
    .summary = "a model in other tools' formats: ONNX, safetensors, C source",
    .usage = "MODEL [options]",
    .details =
        "Writes MODEL as an ONNX file (opset 20), its parameters as safetensors, a liquid network (cfc:, ltc:) as C99 source that\n"
        "stands alone, or several of them.  A file that exists is replaced only when the new one is whole.",
    .example = "assay export mlp-small --onnx mlp-small.onnx --safetensors mlp-small.safetensors",
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("onnx", "seq", "safetensors", "c", "name", "libm", "weights", "seed"),
    .texts =
        AS_TEXTS({.key = "onnx", .help = "write the model as an ONNX file"},
                 {.key = "seq", .help = "with --onnx: steps that a sequence is written as, where ONNX has no operator for it"}),
    .run = run,
};

/* public.c - writes a model in other tools' formats, as a call: ONNX, safetensors, and the exporters that are built in. */
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "model/onnx/onnx.h"

static assay_status params_save(assay_env *env, const assay_model *model, const char *path)
{
    as_named_view *items = calloc((size_t)model->n_values + 1, sizeof *items);
    size_t         n = 0;
    if (!items)
        return as_fail(env, ASSAY_NO_MEMORY, "export: not enough memory for %d names", model->n_values);
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

/* Operators that ONNX does not have are written as operators that it has: a sequence step by step, so its length must be known. */
static assay_status onnx_save(assay_env *env, const assay_model *model, const assay_options *options, const char *path)
{
    as_binding_dim seq = {"seq", as_options_int(options, "seq")};
    bool           has_seq = has_dim(model, "seq"), unroll = as_model_has_composites(model);
    assay_model   *plain = NULL;
    if (as_options_is_set(options, "seq") && (!has_seq || !unroll))
        return as_fail(env, ASSAY_BAD_INPUT, "export: --seq %lld: model %s %s", (long long)seq.size, model->name,
                       has_seq ? "keeps its dimension `seq` open" : "has no dimension `seq`");
    if (!unroll)
        return as_onnx_save(env, model, path);
    AS_TRY(as_model_expand(env, model, &seq, has_seq, &plain));
    assay_status status = as_onnx_save(env, plain, path);
    assay_model_free(plain);
    return status;
}

static assay_status options_check(assay_env *env, const assay_options *options)
{
    static const char *const keys[] = {"onnx", "seq", "weights", "seed", NULL}; /* options of where to write are not checked here */
    static const char *const c_only[] = {"name", "libm"};
    bool                     any = as_options_is_set(options, "onnx") || as_options_is_set(options, "safetensors");
    AS_TRY(as_options_only(env, options, "export", keys));
    for (const as_exporter *const *ex = as_ex_table; *ex; ex++)
        any |= as_options_is_set(options, (*ex)->key);
    for (size_t i = 0; i < AS_COUNT(c_only); i++)
        if (as_options_is_set(options, c_only[i]) && !as_options_is_set(options, "c"))
            return as_fail(env, ASSAY_BAD_INPUT, "--%s is for --c, which is not given", c_only[i]);
    if (as_options_is_set(options, "seq") && !as_options_is_set(options, "onnx"))
        return as_fail(env, ASSAY_BAD_INPUT, "--seq is for --onnx, which is not given");
    return any ? ASSAY_OK : as_fail(env, ASSAY_BAD_INPUT, "nothing to write: give --onnx FILE, --safetensors FILE or --c DIR");
}

assay_status assay_export(assay_env *env, const assay_model *model, const assay_options *options)
{
    const char       *onnx = as_options_text(options, "onnx"), *safetensors = as_options_text(options, "safetensors");
    as_export_options o;
    AS_TRY(options_check(env, options));
    AS_TRY(as_export_options_read(env, options, &o));
    if (onnx)
        AS_TRY(onnx_save(env, model, options, onnx));
    if (safetensors)
        AS_TRY(params_save(env, model, safetensors));
    for (const as_exporter *const *ex = as_ex_table; *ex; ex++) {
        const char *path = as_options_text(options, (*ex)->key);
        if (path)
            AS_TRY((*ex)->save(env, model, &o, path));
    }
    return ASSAY_OK;
}

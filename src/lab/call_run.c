/* call_run.c - one run on the user's data, as calls: the plan and the outputs, written to files and shown. */
#include <string.h>

#include "base/file.h"
#include "lab/calls.h"
#include "lab/tell.h"
#include "run/run.h"

/* --- Showing ------------------------------------------------------------------------------------------------ */

static assay_status format_read(assay_env *env, const char *what, const char *format, bool *json)
{
    *json = !strcmp(format, "json");
    if (!*json && strcmp(format, "text"))
        return as_fail(env, ASSAY_BAD_INPUT, "%s: the format must be text or json, not '%s'", what, format);
    return ASSAY_OK;
}

assay_status assay_plan_write(assay_env *env, const assay_plan *plan, const char *format, const char *path)
{
    as_out       out;
    bool         json;
    assay_status status = ASSAY_OK;
    AS_TRY(format_read(env, "plan", format, &json));
    AS_TRY(as_out_open(env, path, &out));
    if (json)
        status = as_plan_json(env, plan, out.file);
    else
        as_plan_print(plan, out.file, false);
    if (status == ASSAY_OK)
        return as_out_commit(env, &out);
    as_out_abandon(&out);
    return status;
}

assay_status assay_instance_write(assay_env *env, const assay_instance *instance, const char *format, const char *path)
{
    as_out out;
    bool   json;
    AS_TRY(format_read(env, "outputs", format, &json));
    AS_TRY(as_out_open(env, path, &out));
    if (json)
        as_outputs_json(instance, out.file);
    else
        as_outputs_print(instance, out.file);
    return as_out_commit(env, &out);
}

/* --- Accuracy ----------------------------------------------------------------------------------------------- */

assay_status assay_run_error(assay_env *env, const assay_instance *instance, const assay_options *options, double *out)
{
    as_plan_options how;
    AS_TRY(as_plan_options_read(env, options, &how));
    if (instance->plan->winograd)
        return as_run_winograd_error(env, instance, &how, out);
    *out = 0;
    return ASSAY_OK;
}

/* --- Files of --output and --state-out ------------------------------------------------------------------------ */

static assay_status files_add(assay_env *env, const char *option, const assay_model *model, const assay_options *options,
                              const int *outputs, int n, as_answer_files *files)
{
    const char *names[AS_MAX_ANSWERS];
    bool        taken[AS_MAX_ANSWERS] = {false};
    as_texts    texts = as_options_texts(options, option);
    for (int i = 0; i < n; i++)
        names[i] = model->values[model->outputs[outputs[i]]].name;
    for (size_t k = 0; k < texts.n; k++) {
        int         i;
        const char *path;
        AS_TRY(as_option_named(env, option, texts.items[k], names, n, taken, &i, &path));
        taken[i] = true;
        files->name[files->n] = names[i];
        files->path[files->n++] = path;
    }
    return ASSAY_OK;
}

assay_status as_answer_files_read(assay_env *env, const assay_model *model, const assay_options *options, as_answer_files *out)
{
    int outputs[AS_MAX_ANSWERS], states[AS_MAX_STATES];
    int n = model->n_outputs < AS_MAX_ANSWERS ? model->n_outputs : AS_MAX_ANSWERS, n_states = as_state_outputs(model, states);
    for (int i = 0; i < n; i++)
        outputs[i] = i;
    *out = (as_answer_files){.n = 0};
    AS_TRY(files_add(env, "output", model, options, outputs, n, out));
    out->n_outputs = out->n;
    if (!n_states && as_options_is_set(options, "state-out"))
        return as_fail(env, ASSAY_BAD_INPUT, "--state-out %s: the model '%s' has no state output such as h_n",
                       as_options_texts(options, "state-out").items[0], model->name);
    return files_add(env, "state-out", model, options, states, n_states, out);
}

assay_status as_answer_files_save(assay_env *env, const assay_instance *instance, const as_answer_files *files)
{
    for (int i = 0; i < files->n; i++)
        AS_TRY(assay_instance_save_output(env, instance, files->name[i], files->path[i]));
    return ASSAY_OK;
}

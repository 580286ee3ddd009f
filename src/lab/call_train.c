/* call_train.c - training as calls: a whole run with its record and facts, or update by update. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/json.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/calls.h"
#include "train/loop.h"

struct assay_trainer {
    as_loop         *loop;
    as_loop_settings settings;
};

/* --- Saving the network ----------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static assay_status save_check(assay_env *env, const char *path)
{
    if (!path || ends_with(path, ".onnx") || ends_with(path, ".safetensors"))
        return ASSAY_OK;
    return as_fail(env, ASSAY_BAD_INPUT, "train: --save %s: expected a file that ends with .onnx or .safetensors", path);
}

static assay_status network_save(assay_env *env, const as_trainer *trainer, const char *path)
{
    assay_model   *model = NULL;
    assay_options *options = NULL;
    AS_TRY(as_trainer_model(env, trainer, &model));
    assay_status status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, ends_with(path, ".onnx") ? "onnx" : "safetensors", path);
    if (status == ASSAY_OK)
        status = assay_export(env, model, options);
    assay_options_free(options);
    assay_model_free(model);
    return status;
}

/* --- A whole run --------------------------------------------------------------------------------------------------- */

static assay_status settings_read(assay_env *env, const assay_options *options, as_loop_settings *out)
{
    static const char *const keys[] = {AS_TRAIN_KEYS, NULL};
    AS_TRY(as_options_only(env, options, "train", keys));
    return as_loop_settings_read(env, options, out);
}

/* What was done is stored and shown, whatever ended it. */
static assay_status facts_give(assay_env *env, const as_store_options *store, assay_trace *trace, assay_facts **out)
{
    assay_facts *f = NULL;
    int64_t      id;
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    assay_status status = assay_analyse(env, trace, &f);
    if (status == ASSAY_OK)
        status = as_lab_keep(env, store, "train", trace->name, (const assay_trace *const[]){trace}, 1, f, &id);
    if (status == ASSAY_OK) {
        f->record = trace;
        *out = f;
    } else {
        assay_facts_free(f);
        assay_trace_free(trace);
    }
    return status;
}

assay_status assay_train(assay_env *env, const assay_model *model, const assay_options *options, assay_on_training on_update,
                         void *arg, assay_facts **out)
{
    as_loop_settings settings;
    as_store_options store;
    as_loop         *loop = NULL;
    assay_trace     *trace = NULL;
    char             first[sizeof env->message];
    const char      *save = as_options_text(options, "save"), *path = as_options_text(options, "trace");
    AS_TRY(save_check(env, save));
    AS_TRY(settings_read(env, options, &settings));
    AS_TRY(as_keep_options_read(env, options, &store));
    as_stage_begin(env, AS_PHASE_PLAN, "", (double)NAN, 0);
    AS_TRY(as_loop_open(env, model, &settings, &loop));
    as_stage_begin(env, AS_PHASE_TRAIN, "", (double)NAN, 0);
    assay_status ended = as_loop_run(loop, on_update, arg), status = ASSAY_OK;
    if (save && (ended == ASSAY_OK || ended == ASSAY_CANCELLED)) {
        memcpy(first, env->message, sizeof first);
        status = network_save(env, as_loop_trainer(loop), save);
        if (status == ASSAY_OK)
            memcpy(env->message, first, sizeof first);
    }
    memcpy(first, env->message, sizeof first);
    assay_status told = as_loop_finish(loop, ended, &trace);
    as_loop_close(loop);
    if (told == ASSAY_OK && path)
        told = assay_trace_save(env, trace, path);
    if (told == ASSAY_OK)
        told = facts_give(env, &store, trace, out);
    if (ended == ASSAY_OK && status == ASSAY_OK)
        return told;
    memcpy(env->message, first, sizeof first);
    return ended == ASSAY_OK ? status : ended;
}

/* --- Update by update --------------------------------------------------------------------------------------------------- */

assay_status assay_trainer_new(assay_env *env, const assay_model *model, const assay_options *options, assay_trainer **out)
{
    assay_trainer *t = calloc(1, sizeof *t);
    if (!t)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory for a trainer");
    assay_status status = settings_read(env, options, &t->settings);
    if (status == ASSAY_OK)
        status = as_loop_open(env, model, &t->settings, &t->loop);
    if (status != ASSAY_OK) {
        free(t);
        return status;
    }
    *out = t;
    return ASSAY_OK;
}

void assay_trainer_free(assay_trainer *t)
{
    if (!t)
        return;
    as_loop_close(t->loop);
    free(t);
}

assay_status assay_trainer_step(assay_env *env, assay_trainer *t, assay_training *now, bool *more)
{
    bool           goes_on;
    assay_training ignored;
    (void)env;
    AS_TRY(as_loop_update(t->loop, now ? now : &ignored, &goes_on));
    if (more)
        *more = goes_on;
    return ASSAY_OK;
}

assay_status assay_trainer_save(assay_env *env, assay_trainer *t, const char *folder)
{
    (void)env;
    return as_loop_save(t->loop, folder);
}

assay_status assay_trainer_load(assay_env *env, assay_trainer *t, const char *path)
{
    (void)env;
    return as_loop_load(t->loop, path);
}

assay_status assay_trainer_model(assay_env *env, const assay_trainer *t, assay_model **out)
{
    return as_trainer_model(env, as_loop_trainer(t->loop), out);
}

/* --- Run files ---------------------------------------------------------------------------------------------------------- */

enum { MAX_RUN_FILE = 1 << 20 };

/* A value of JSON as the text of an option; NULL: it cannot be one. */
static const char *value_text(const json_t *value, char buf[AS_NUMBER_BYTES])
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value)) {
        snprintf(buf, AS_NUMBER_BYTES, "%lld", (long long)json_integer_value(value));
        return buf;
    }
    if (json_is_real(value))
        return as_number(buf, json_real_value(value));
    return json_is_true(value) ? "on" : json_is_false(value) ? "off" : NULL;
}

static assay_status option_take(assay_env *env, const char *path, const char *key, const json_t *value, assay_options *options)
{
    char   buf[AS_NUMBER_BYTES];
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < n; i++) {
        const char *text = value_text(json_is_array(value) ? json_array_get(value, i) : value, buf);
        if (!text)
            return as_fail(env, ASSAY_BAD_INPUT, "train: %s: \"%s\" must be a text, a number, true or false, or a list of these",
                           path, key);
        assay_status status = assay_options_set(env, options, key, text);
        if (status != ASSAY_OK) {
            char why[sizeof env->message];
            memcpy(why, env->message, sizeof why);
            return as_fail(env, status, "train: %s: %s", path, why);
        }
    }
    return ASSAY_OK;
}

static assay_status object_take(assay_env *env, const char *path, const json_t *root, const char *const *keys,
                                assay_options *options)
{
    const char   *key;
    const json_t *value;
    /* Jansson's macro takes what it only reads as if it could change. */
    for (void *at = json_object_iter((json_t *)(uintptr_t)root); at; at = json_object_iter_next((json_t *)(uintptr_t)root, at)) {
        key = json_object_iter_key(at);
        value = json_object_iter_value(at);
        if (!strcmp(key, "model"))
            continue;
        const as_option_def *def = as_option_find(key);
        if (!def || !as_keys_have(keys, def->key)) {
            const char *near = as_nearest(key, keys);
            return as_fail(env, ASSAY_BAD_INPUT, "train: %s: unknown key \"%s\"%s%s%s; see assay help train", path, key,
                           near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
        }
        if (!as_options_is_set(options, def->key))
            AS_TRY(option_take(env, path, def->key, value, options));
    }
    return ASSAY_OK;
}

assay_status as_train_file_read(assay_env *env, const char *path, const char *const *keys, assay_options *options, char *model,
                                size_t size, bool *is_one)
{
    json_t *root = NULL;
    *is_one = false;
    AS_TRY(as_json_load(env, "train", path, MAX_RUN_FILE, &root));
    const char  *name = json_string_value(json_object_get(root, "model"));
    assay_status status = ASSAY_OK;
    if (name && strlen(name) >= size)
        status = as_fail(env, ASSAY_BAD_INPUT, "train: %s: the name of the model has more than %zu bytes", path, size - 1);
    else if (name)
        status = object_take(env, path, root, keys, options);
    if (status == ASSAY_OK && name) {
        memcpy(model, name, strlen(name) + 1);
        *is_one = true;
    }
    json_decref(root);
    return status;
}

/* load.c - from a spec to a model: a file by its suffix, or a built-in network by its name. */
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "model/graph/maker.h"
#include "model/zoo/zoo.h"

static const as_format *format_of(const char *path)
{
    size_t n = strlen(path);
    for (const as_format *const *format = as_fmt_table; *format; format++) {
        size_t n_suffix = strlen((*format)->suffix);
        if (n > n_suffix && !strcmp(path + n - n_suffix, (*format)->suffix))
            return *format;
    }
    return NULL;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static assay_status fail_suffix(assay_env *env, const char *path)
{
    as_text known = {0};
    for (const as_format *const *format = as_fmt_table; *format; format++)
        as_text_printf(&known, "%s%s", known.length ? ", " : "", (*format)->suffix);
    assay_status status =
        as_fail(env, ASSAY_BAD_INPUT, "model: %s: unknown file suffix; known: %s", path, known.length ? known.data : "none");
    as_text_drop(&known);
    return status;
}

static assay_status zoo_load(assay_env *env, const char *spec, uint64_t seed, assay_model **out)
{
    as_arena           arena = {0};
    const as_zoo      *zoo;
    const as_zoo_args *args;
    as_maker          *m;
    assay_model       *model = NULL;
    assay_status       status;
    AS_TRY_OR(done, as_zoo_parse(env, &arena, spec, &zoo, &args));
    AS_TRY_OR(done, as_maker_new(env, zoo->name, seed, &m));
    zoo->build(m, args);
    AS_TRY_OR(done, as_maker_finish(m, &model));
    if (zoo->refine)
        AS_TRY_OR(done, zoo->refine(env, args, &model));
    *out = model;
    model = NULL;
done:
    assay_model_free(model);
    as_arena_drop(&arena);
    return status;
}

/* For a file, its name without the directories; for a built-in network, the name as given. */
static const char *title_of(const char *spec)
{
    const char *slash = format_of(spec) ? strrchr(spec, '/') : NULL;
    return slash ? slash + 1 : spec;
}

/* A built-in network keeps its name even where a file without a suffix has the same. */
static assay_status spec_load(assay_env *env, const char *spec, uint64_t seed, assay_model **out)
{
    const as_format *format = format_of(spec);
    if (format)
        return format->load(env, spec, seed, out);
    if (!as_zoo_find(spec, strcspn(spec, ":")) && is_file(spec))
        return fail_suffix(env, spec);
    return zoo_load(env, spec, seed, out);
}

/* Whether a built-in network has a key that its arguments do not set. */
static bool key_is_open(const as_zoo *zoo, const char *args, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = args; *at; at += strcspn(at, ",")) {
        at++; /* the ':' or ',' before a key */
        if (!strncmp(at, key, n) && at[n] == '=')
            return false;
    }
    for (const as_zoo_param *p = zoo->params; p && p->key; p++)
        if (!strcmp(p->key, key))
            return true;
    return false;
}

/* Options that need an optional input of a built-in network switch it on: --timespans ts.npy is enough. */
static assay_status spec_complete(assay_env *env, as_arena *arena, const char *spec, const as_model_options *o, const char **out)
{
    const char   *args = spec + strcspn(spec, ":");
    const as_zoo *zoo = format_of(spec) ? NULL : as_zoo_find(spec, (size_t)(args - spec));
    bool          timespans = zoo && o->timespans && key_is_open(zoo, args, "timespans");
    bool          state = zoo && (o->states_in.n || o->stream) && key_is_open(zoo, args, "state");
    *out = spec;
    if (timespans || state)
        *out = as_arena_printf(arena, "%s%c%s%s%s", spec, *args ? ',' : ':', timespans ? "timespans=1" : "",
                               timespans && state ? "," : "", state ? "state=1" : "");
    return *out ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for its name", spec);
}

const as_option_member as_model_members[] = {AS_MEMBER(as_model_options, U64, "seed", seed),
                                             AS_MEMBER(as_model_options, TEXT, "weights", weights),
                                             AS_MEMBER(as_model_options, TEXT, "timespans", timespans),
                                             AS_MEMBER(as_model_options, TEXTS, "state-in", states_in),
                                             AS_MEMBER(as_model_options, BOOL, "stream", stream),
                                             {.key = NULL}};

assay_status as_model_options_read(assay_env *env, const assay_options *options, as_model_options *out)
{
    *out = (as_model_options){0};
    return as_options_read(env, options, as_model_members, out);
}

assay_status as_model_load(assay_env *env, const char *spec, const as_model_options *options, assay_model **out)
{
    assay_model *model = NULL;
    as_arena     scratch = {0};
    const char  *whole;
    assay_status status = spec_complete(env, &scratch, spec, options, &whole);
    if (status == ASSAY_OK)
        status = spec_load(env, whole, options->seed, &model);
    as_arena_drop(&scratch);
    AS_TRY(status);
    if ((model->source = as_arena_text(&model->arena, spec)))
        model->name = title_of(model->source);
    else
        status = as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for its name", spec);
    if (status == ASSAY_OK && options->weights)
        status = as_model_weights(env, model, options->weights, false);
    if (status == ASSAY_OK)
        *out = model;
    else
        assay_model_free(model);
    return status;
}

assay_status assay_model_load(assay_env *env, const char *spec, const assay_options *options, assay_model **out)
{
    as_model_options o;
    if (!spec || !*spec || !out)
        return as_fail(env, ASSAY_BAD_INPUT, "model: give a file or a name; see `assay list models`");
    AS_TRY(as_model_options_read(env, options, &o));
    return as_model_load(env, spec, &o, out);
}

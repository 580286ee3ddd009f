/* baseline.c - reads, writes and shows baselines. */
#include "lab/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/command.h"
#include "sensor/sensor.h"

#define SCHEMA "assay.baseline/1"
#define SELF   "@assay"
enum { MAX_WORDS = 256, MAX_CASES = 4096, MAX_FILES = 4096 + MAX_WORDS };

static assay_status no_room(assay_env *env) { return as_fail(env, ASSAY_NO_MEMORY, "baseline: not enough memory for its cases"); }

static assay_status baseline_new(assay_env *env, int n, as_baseline **out)
{
    as_baseline *b = calloc(1, sizeof *b);
    if (b)
        b->cases = AS_TAKE(&b->arena, as_baseline_case, n);
    if (!b || !b->cases) {
        as_baseline_free(b);
        return no_room(env);
    }
    b->n_cases = n;
    *out = b;
    return ASSAY_OK;
}

void as_baseline_free(as_baseline *b)
{
    if (b)
        as_arena_drop(&b->arena);
    free(b);
}

/* --- From cases and commands ------------------------------------------------------------------------------ */

static bool is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool word_add(as_arena *arena, const char **words, int *n, const char *text)
{
    if (*n + 1 >= MAX_WORDS || !(words[*n] = as_arena_text(arena, text)))
        return false;
    (*n)++;
    return true;
}

/* Files that a model's file names are part of the model. */
static assay_status beside_find(assay_env *env, as_arena *arena, int at, const char *path, as_baseline_case *out)
{
    assay_model *model = NULL;
    int          n = 0;
    AS_TRY(assay_model_load(env, path, NULL, &model));
    for (const as_file_link *f = model->files; f; f = f->next)
        n++;
    out->beside = AS_TAKE(arena, as_artefact, n + 1);
    bool good = out->beside;
    for (const as_file_link *f = model->files; f && good; f = f->next) {
        as_artefact *a = &out->beside[out->n_beside++];
        *a = (as_artefact){.at = at, .name = as_arena_text(arena, f->name)};
        good = a->name;
    }
    assay_model_free(model);
    return good ? ASSAY_OK : no_room(env);
}

/* assay bench SPEC --speak --devices cpu --batch=8 ...: with every option that differs from the default. */
static assay_status case_command(assay_env *env, as_arena *arena, const as_bench_case *c, as_baseline_case *out)
{
    const char     *words[MAX_WORDS];
    int             n = 0;
    as_plan_options plan = c->plan, standard;
    AS_TRY(as_plan_options_read(env, NULL, &standard));
    plan.device = standard.device; /* bench has a list of devices */
    plan.seed = standard.seed;     /* the model's is the same */
    bool ok = word_add(arena, words, &n, SELF) && word_add(arena, words, &n, "bench") && word_add(arena, words, &n, c->spec) &&
              word_add(arena, words, &n, "--speak") && word_add(arena, words, &n, "--devices") &&
              word_add(arena, words, &n, c->plan.device) &&
              as_members_words(arena, as_model_members, &c->model, words, MAX_WORDS - 1, &n) &&
              as_members_words(arena, as_plan_members, &plan, words, MAX_WORDS - 1, &n);
    const char **argv = AS_TAKE(arena, const char *, n + 1);
    as_artefact *objects = AS_TAKE(arena, as_artefact, 3);
    out->name = as_arena_text(arena, c->name);
    if (!ok || !argv || !objects || !out->name)
        return no_room(env);
    memcpy(argv, words, (size_t)n * sizeof *argv);
    out->argv = argv;
    out->objects = objects;
    objects[out->n_objects++] = (as_artefact){.at = 0};
    for (int i = 2; i < n; i++)
        if ((i == 2 || !strcmp(words[i - 1], "--weights")) && is_file(words[i]))
            objects[out->n_objects++] = (as_artefact){.at = i};
    return !c->is_workload && is_file(c->spec) ? beside_find(env, arena, 2, c->spec, out) : ASSAY_OK;
}

assay_status as_baseline_of_cases(assay_env *env, const as_bench_cases *cases, as_baseline **out)
{
    as_baseline *b;
    AS_TRY(baseline_new(env, cases->n_items, &b));
    for (int i = 0; i < b->n_cases; i++) {
        assay_status status = case_command(env, &b->arena, &cases->items[i], &b->cases[i]);
        if (status != ASSAY_OK) {
            as_baseline_free(b);
            return status;
        }
    }
    *out = b;
    return ASSAY_OK;
}

/* A program without a slash is searched in PATH, as a shell does. */
static assay_status program_find(assay_env *env, as_arena *arena, const char *word, const char **out)
{
    if (strchr(word, '/')) {
        *out = word;
        return is_file(word) ? ASSAY_OK : as_fail(env, ASSAY_NOT_FOUND, "baseline: %s: there is no such program", word);
    }
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t n = strcspn(at, ":");
        char  *path = as_arena_printf(arena, "%.*s/%s", (int)n, at, word);
        if (!path)
            return no_room(env);
        if (is_file(path) && !access(path, X_OK)) {
            *out = path;
            return ASSAY_OK;
        }
        at += n + (at[n] == ':');
    }
    return as_fail(env, ASSAY_NOT_FOUND, "baseline: %s: there is no such program in $PATH", word);
}

static assay_status command_case(assay_env *env, as_arena *arena, const char *command, as_baseline_case *out)
{
    const char *const *words;
    int                n = 0;
    AS_TRY(as_command_split(env, command, arena, &words));
    while (words[n])
        n++;
    const char **argv = AS_TAKE(arena, const char *, n + 1);
    out->objects = AS_TAKE(arena, as_artefact, 1);
    out->name = as_arena_text(arena, command);
    if (!argv || !out->objects || !out->name)
        return no_room(env);
    memcpy(argv, words, (size_t)n * sizeof *argv);
    AS_TRY(program_find(env, arena, words[0], &argv[0]));
    out->objects[out->n_objects++] = (as_artefact){.at = 0};
    out->argv = argv;
    return ASSAY_OK;
}

assay_status as_baseline_of_commands(assay_env *env, const char *const *commands, int n, as_baseline **out)
{
    as_baseline *b;
    AS_TRY(baseline_new(env, n, &b));
    for (int i = 0; i < n; i++) {
        assay_status status = command_case(env, &b->arena, commands[i], &b->cases[i]);
        if (status != ASSAY_OK) {
            as_baseline_free(b);
            return status;
        }
    }
    *out = b;
    return ASSAY_OK;
}

/* --- To JSON and back ------------------------------------------------------------------------------------------ */

static void artefacts_write(as_json *w, const char *key, const as_artefact *list, int n)
{
    as_json_key(w, key);
    as_json_array(w);
    for (int k = 0; k < n; k++) {
        as_json_object(w);
        as_json_key_i64(w, "at", list[k].at);
        as_json_key_text(w, "id", list[k].id);
        as_json_key_text(w, "name", list[k].name);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_baseline_write(const as_baseline *b, as_json *w)
{
    as_json_object(w);
    as_json_key_text(w, "schema", SCHEMA);
    as_json_key_text(w, "description", b->description);
    as_json_key_text(w, "fingerprint", b->fingerprint);
    as_json_key_text(w, "commit", b->commit);
    as_json_key_i64(w, "unix_time", b->unix_time);
    as_json_key(w, "cases");
    as_json_array(w);
    for (int i = 0; i < b->n_cases; i++) {
        const as_baseline_case *c = &b->cases[i];
        as_json_object(w);
        as_json_key_text(w, "name", c->name);
        as_json_key(w, "argv");
        as_json_array(w);
        for (int k = 0; c->argv[k]; k++)
            as_json_text(w, c->argv[k]);
        as_json_array_end(w);
        artefacts_write(w, "objects", c->objects, c->n_objects);
        if (c->n_beside)
            artefacts_write(w, "beside", c->beside, c->n_beside);
        as_json_key_f64(w, "p25_ns", c->p25_ns);
        as_json_key_f64(w, "peak_bytes", c->peak_bytes);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static const char *text_at(as_arena *arena, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? as_arena_text(arena, text) : NULL;
}

static double number_at(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* These names become file names, so they must not lead outside the folder. */
static bool artefacts_read(as_arena *arena, const json_t *array, size_t n_words, as_artefact **out, int *n_out)
{
    size_t n = json_array_size(array);
    *out = AS_TAKE(arena, as_artefact, n + 1);
    if (!*out || n > MAX_FILES)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *object = json_array_get(array, i);
        json_int_t    at = json_integer_value(json_object_get(object, "at"));
        as_artefact   a = {.at = (int)at, .id = text_at(arena, object, "id"), .name = text_at(arena, object, "name")};
        if (at < 0 || at >= (json_int_t)n_words || !a.id || !a.name || strlen(a.id) != AS_OBJECT_ID - 1 ||
            !as_model_file_ok(a.name))
            return false;
        (*out)[(*n_out)++] = a;
    }
    return true;
}

static bool case_read(as_arena *arena, const json_t *o, as_baseline_case *c)
{
    const json_t *argv = json_object_get(o, "argv");
    size_t        n = json_array_size(argv);
    c->name = text_at(arena, o, "name");
    const char **words = AS_TAKE(arena, const char *, n + 1);
    if (!c->name || !words || !n || n >= MAX_WORDS)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        if (!word || !(words[i] = as_arena_text(arena, word)))
            return false;
    }
    c->argv = words;
    if (!artefacts_read(arena, json_object_get(o, "objects"), n, &c->objects, &c->n_objects) ||
        !artefacts_read(arena, json_object_get(o, "beside"), n, &c->beside, &c->n_beside))
        return false;
    c->p25_ns = number_at(o, "p25_ns");
    c->peak_bytes = number_at(o, "peak_bytes");
    return true;
}

static assay_status baseline_parse(assay_env *env, const char *name, const char *text, as_baseline **out)
{
    json_t *root = NULL;
    AS_TRY(as_json_parse(env, "baseline", name, text, strlen(text), &root));
    const char   *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *cases = json_object_get(root, "cases");
    as_baseline  *b = NULL;
    assay_status  status = ASSAY_OK;
    if (!schema || strcmp(schema, SCHEMA))
        status = as_fail(env, ASSAY_BAD_INPUT, "baseline: %s: its schema is '%s', and this assay reads " SCHEMA "%s", name,
                         schema ? schema : "missing",
                         schema && !strncmp(schema, "assay.baseline/", 15) ? ": a newer assay wrote it" : "");
    else if (!json_array_size(cases) || json_array_size(cases) > MAX_CASES)
        status = as_fail(env, ASSAY_BAD_INPUT, "baseline: %s: it has no cases, or too many", name);
    else
        status = baseline_new(env, (int)json_array_size(cases), &b);
    if (b) {
        b->name = as_arena_text(&b->arena, name);
        b->description = text_at(&b->arena, root, "description");
        b->fingerprint = text_at(&b->arena, root, "fingerprint");
        b->commit = text_at(&b->arena, root, "commit");
        b->unix_time = json_integer_value(json_object_get(root, "unix_time"));
        bool good = b->name && b->description && b->fingerprint && b->commit;
        for (int i = 0; i < b->n_cases && good; i++)
            good = case_read(&b->arena, json_array_get(cases, (size_t)i), &b->cases[i]);
        if (!good)
            status = as_fail(env, ASSAY_BAD_INPUT, "baseline: %s: its record is damaged", name);
    }
    json_decref(root);
    if (status == ASSAY_OK)
        *out = b;
    else
        as_baseline_free(b);
    return status;
}

assay_status as_baseline_load(assay_env *env, as_store *store, const char *name, as_baseline **out)
{
    as_arena    arena = {0};
    const char *text;
    int64_t     run = 0;
    AS_TRY(as_store_check_name(env, "baseline", name));
    assay_status status = as_store_get_named(env, store, "baseline", name, &arena, &text, &run);
    if (status == ASSAY_OK)
        status = baseline_parse(env, name, text, out);
    if (status == ASSAY_OK)
        (*out)->run = run;
    as_arena_drop(&arena);
    return status;
}

/* --- Saving ------------------------------------------------------------------------------------------------------ */

/* The program that an argv begins with: this one for "@assay". */
static assay_status word_path(assay_env *env, const char *word, char *path, size_t size)
{
    if (!strcmp(word, SELF))
        return as_self_path(env, path, size);
    snprintf(path, size, "%s", word);
    return ASSAY_OK;
}

static const char *base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

static assay_status object_put(assay_env *env, as_store *store, as_arena *arena, const char *path, const char *name, as_artefact *a)
{
    char id[AS_OBJECT_ID];
    AS_TRY(as_store_put_object(env, store, path, id));
    a->id = as_arena_text(arena, id);
    a->name = as_arena_text(arena, name);
    return a->id && a->name ? ASSAY_OK : no_room(env);
}

static assay_status objects_put(assay_env *env, as_store *store, as_arena *arena, as_baseline_case *c)
{
    char path[4096];
    for (int i = 0; i < c->n_objects; i++) {
        AS_TRY(word_path(env, c->argv[c->objects[i].at], path, sizeof path));
        AS_TRY(object_put(env, store, arena, path, base_name(path), &c->objects[i]));
    }
    for (int i = 0; i < c->n_beside; i++) {
        const char *owner = c->argv[c->beside[i].at];
        if (snprintf(path, sizeof path, "%.*s%s", (int)(base_name(owner) - owner), owner, c->beside[i].name) >= (int)sizeof path)
            return as_fail(env, ASSAY_BAD_INPUT, "baseline: %s: the path is too long", path);
        AS_TRY(object_put(env, store, arena, path, c->beside[i].name, &c->beside[i]));
    }
    return ASSAY_OK;
}

assay_status as_baseline_words(assay_env *env, as_arena *arena, const char *const *argv, const char *const **out)
{
    char path[4096];
    int  n = 0;
    while (argv[n])
        n++;
    const char **words = AS_TAKE(arena, const char *, n + 1);
    if (!words)
        return no_room(env);
    memcpy(words, argv, (size_t)n * sizeof *words);
    AS_TRY(word_path(env, argv[0], path, sizeof path));
    words[0] = as_arena_text(arena, path);
    *out = words;
    return words[0] ? ASSAY_OK : no_room(env);
}

static assay_status case_measure(assay_env *env, as_arena *arena, as_baseline_case *c, const as_lab_settings *s, assay_trace **out)
{
    const char *const *argv;
    as_lab_settings    own = *s;
    own.sampler.keep_samples = true;
    AS_TRY(as_baseline_words(env, arena, c->argv, &argv));
    AS_TRY(as_lab_compare_bins(env, c->name, &argv, &c->name, 1, &own, out));
    if ((*out)->state != AS_TRACE_COMPLETE)
        return as_fail(env, ASSAY_DEVICE, "baseline: %s: %s", c->name, (*out)->reason);
    as_alone alone;
    as_alone_judge(*out, 0, &alone);
    c->p25_ns = alone.p25;
    c->peak_bytes = (*out)->arms[0].ledger.peak_bytes;
    return ASSAY_OK;
}

static assay_status named_put(assay_env *env, as_store *store, const as_baseline *b)
{
    char   *text = NULL;
    size_t  n;
    as_json w;
    FILE   *file = open_memstream(&text, &n);
    if (!file)
        return no_room(env);
    as_json_start(&w, file, false);
    as_baseline_write(b, &w);
    as_json_finish(&w);
    assay_status status = fclose(file) ? no_room(env) : as_store_put_named(env, store, "baseline", b->name, text, b->run, false);
    free(text);
    return status;
}

static assay_status name_is_free(assay_env *env, as_store *store, const char *name)
{
    as_arena    arena = {0};
    const char *text;
    int64_t     run;
    AS_TRY(as_store_check_name(env, "baseline", name));
    assay_status status = as_store_get_named(env, store, "baseline", name, &arena, &text, &run);
    as_arena_drop(&arena);
    if (status == ASSAY_OK)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "baseline: '%s' exists already: remove it, or save under another name and promote that one", name);
    return status == ASSAY_NOT_FOUND ? ASSAY_OK : status;
}

static assay_status parts_save(assay_env *env, as_store *store, as_baseline *b, const as_lab_settings *s, assay_trace **trials)
{
    for (int i = 0; i < b->n_cases; i++) {
        AS_TRY(case_measure(env, &b->arena, &b->cases[i], s, &trials[i]));
        AS_TRY(objects_put(env, store, &b->arena, &b->cases[i]));
    }
    as_stored_run run = {.kind = "baseline",
                         .title = b->name,
                         .fingerprint = b->fingerprint,
                         .commit = b->commit,
                         .state = "complete",
                         .unix_time = b->unix_time,
                         .report = NULL};
    AS_TRY(as_store_put_run(env, store, &run, (const assay_trace *const *)trials, (size_t)b->n_cases, &b->run));
    return named_put(env, store, b);
}

assay_status as_baseline_save(assay_env *env, as_store *store, as_baseline *b, const char *name, const char *description,
                              const as_lab_settings *s)
{
    char print[17], commit[65];
    AS_TRY(name_is_free(env, store, name)); /* before measuring, which takes minutes */
    as_machine_fingerprint(print);
    as_lab_commit(commit);
    b->name = as_arena_text(&b->arena, name);
    b->description = as_arena_text(&b->arena, description);
    b->fingerprint = as_arena_text(&b->arena, print);
    b->commit = as_arena_text(&b->arena, commit);
    b->unix_time = (int64_t)time(NULL);
    assay_trace **trials = calloc((size_t)b->n_cases, sizeof *trials);
    if (!b->name || !b->description || !b->fingerprint || !b->commit || !trials) {
        free(trials);
        return no_room(env);
    }
    assay_status status = parts_save(env, store, b, s, trials);
    if (status != ASSAY_OK && as_cancelled(env))
        status = as_fail(env, ASSAY_CANCELLED, "baseline: %s: stopped early: nothing was saved", name);
    for (int i = 0; i < b->n_cases; i++)
        assay_trace_free(trials[i]);
    free(trials);
    return status;
}

/* --- Showing ----------------------------------------------------------------------------------------------------- */

void as_baseline_print(const as_baseline *b, FILE *file)
{
    char when[AS_DATE_BYTES];
    fprintf(file, "%s: %s\nmachine %s, commit %.12s, %s UTC, run %lld\n", b->name,
            *b->description ? b->description : "(no description)", b->fingerprint, *b->commit ? b->commit : "-",
            as_date_text(when, sizeof when, b->unix_time, AS_DATE_MINUTE), (long long)b->run);
    for (int i = 0; i < b->n_cases; i++) {
        const as_baseline_case *c = &b->cases[i];
        char                    p25[32];
        fprintf(file, "  %-40s lower quartile %s\n", c->name, as_show(p25, sizeof p25, c->p25_ns, "ns"));
        for (int k = 0; k < c->n_objects; k++)
            fprintf(file, "    %s %.16s\n", c->objects[k].name, c->objects[k].id);
        for (int k = 0; k < c->n_beside; k++)
            fprintf(file, "    %s %.16s\n", c->beside[k].name, c->beside[k].id);
    }
}

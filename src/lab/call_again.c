/* call_again.c - judges a stored comparison again and sets two stored profiles side by side.  Nothing is run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/duel/duel_facts.h"
#include "base/file.h"
#include "base/text.h"
#include "lab/calls.h"

/* --- Reading ------------------------------------------------------------------------------------------------- */

/* A number that is not a file is a run of the store. */
static bool is_run(const char *arg, int64_t *id) { return as_parse_i64(arg, id) && *id > 0 && access(arg, F_OK); }

static assay_status stored_load(assay_env *env, const as_store_options *where, int64_t id, assay_facts **out)
{
    as_store     *store;
    as_arena      arena = {0};
    as_stored_run run;
    char          name[64];
    snprintf(name, sizeof name, "run %lld", (long long)id);
    AS_TRY(as_lab_store(env, where, false, &store));
    assay_status status = as_store_get_run(env, store, id, &arena, &run);
    if (status == ASSAY_OK && !*run.report)
        status = as_fail(env, ASSAY_NOT_FOUND, "compare: %s has no report", name);
    if (status == ASSAY_OK)
        status = as_facts_parse(env, name, run.report, strlen(run.report), out);
    if (status == ASSAY_OK && !(*out)->n_trials) { /* the store keeps trials as rows of their own */
        assay_trace **trials = NULL;
        size_t        n = 0;
        status = as_store_get_trials(env, store, id, &trials, &n);
        if (status == ASSAY_OK) {
            as_facts_trials(*out, trials, n, false);
            (*out)->owns_trials = true;
            free(trials);
        } else {
            assay_facts_free(*out);
        }
    }
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

/* JSON begins with a brace, a trace with its magic. */
static assay_status file_load(assay_env *env, const char *path, assay_facts **out)
{
    as_map       map;
    assay_trace *trace = NULL;
    AS_TRY(as_map_open(env, "compare", path, (uint64_t)1 << 30, &map));
    size_t at = 0;
    while (at < map.bytes && map.data[at] && strchr(" \t\r\n", map.data[at]))
        at++;
    bool         is_trace = map.bytes > at && (unsigned char)map.data[at] == 0x89;
    assay_status status = is_trace ? ASSAY_OK : as_facts_parse(env, path, (const char *)map.data, map.bytes, out);
    as_map_close(&map);
    if (!is_trace)
        return status;
    AS_TRY(assay_trace_load(env, path, &trace));
    status = assay_analyse(env, trace, out);
    assay_trace_free(trace);
    return status;
}

static assay_status past_load(assay_env *env, const char *path, const as_store_options *where, assay_facts **out)
{
    int64_t id;
    return is_run(path, &id) ? stored_load(env, where, id, out) : file_load(env, path, out);
}

/* An option that would do nothing is a mistake. */
static assay_status store_check(assay_env *env, const assay_options *options, const char *a, const char *b)
{
    int64_t id;
    if (!as_options_is_set(options, "store") || is_run(a, &id) || (b && is_run(b, &id)))
        return ASSAY_OK;
    return as_fail(env, ASSAY_BAD_INPUT, "compare: --store says where a run is, and --from names a file");
}

/* --- A comparison ------------------------------------------------------------------------------------------------ */

/* The new facts borrow the trials of the old ones, so the trials change owners. */
static assay_status judged(assay_env *env, const char *path, assay_facts *old, const as_lab_settings *s, assay_facts **out)
{
    size_t n = 0, n_rows = 0;
    for (size_t i = 0; i < old->n_trials; i++)
        n += (size_t)old->trials[i]->n_arms - 1;
    if (!n)
        return as_fail(env, ASSAY_BAD_INPUT, "compare: %s: it has no trial with two candidates", path);
    as_duel_row *rows = calloc(n, sizeof *rows);
    if (!rows)
        return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for %zu verdicts", n);
    for (size_t i = 0; i < old->n_trials; i++)
        for (int b = 1; b < old->trials[i]->n_arms; b++) {
            as_duel_row *row = &rows[n_rows++];
            *row = (as_duel_row){.trial = old->trials[i], .a = 0, .b = b, .rules = &s->rules};
            as_duel_judge(row->trial, 0, b, &s->rules, &row->duel);
        }
    assay_facts *f = as_facts_of_duels(env, rows, n_rows, old->title);
    free(rows);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the result");
    static const char *const kept[] = {AS_NOTE_NAME, AS_NOTE_SETTINGS};
    for (size_t i = 0; i < AS_COUNT(kept); i++)
        if (as_facts_note_find(old, kept[i]))
            as_facts_note(f, kept[i], as_facts_note_find(old, kept[i]));
    as_lab_settings how = *s;
    how.sampler.keep_samples = old->with_samples;
    as_trials_give(f, old->trials, old->n_trials, &how);
    return as_facts_done(f, out);
}

assay_status assay_compare_again(assay_env *env, const char *path, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {"from", "margin", "alpha", "store", NULL};
    as_lab_settings          s;
    as_store_options         where;
    assay_facts             *old = NULL;
    AS_TRY(as_options_only(env, options, "compare --from", keys));
    AS_TRY(store_check(env, options, path, NULL));
    AS_TRY(as_lab_settings_read(env, options, NULL, &s));
    AS_TRY(as_store_options_read(env, options, &where));
    AS_TRY(past_load(env, path, &where, &old));
    assay_status status = judged(env, path, old, &s, out);
    assay_facts_free(old);
    return status;
}

/* --- Two profiles -------------------------------------------------------------------------------------------------- */

static const char *name_of(char *buf, size_t size, const char *path)
{
    int64_t     id;
    const char *slash = strrchr(path, '/');
    if (is_run(path, &id))
        snprintf(buf, size, "run %lld", (long long)id);
    else
        snprintf(buf, size, "%s", slash && slash[1] ? slash + 1 : path);
    return buf;
}

assay_status assay_compare_profiles(assay_env *env, const char *a, const char *b, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {"from", "store", NULL};
    as_store_options         where;
    assay_facts             *runs[2] = {NULL, NULL};
    char                     names[2][128];
    AS_TRY(as_options_only(env, options, "compare --from of two profiles", keys));
    AS_TRY(store_check(env, options, a, b));
    AS_TRY(as_store_options_read(env, options, &where));
    assay_status status = past_load(env, a, &where, &runs[0]);
    if (status == ASSAY_OK)
        status = past_load(env, b, &where, &runs[1]);
    if (status == ASSAY_OK)
        status = as_facts_of_profiles(env, runs[0], name_of(names[0], sizeof names[0], a), runs[1],
                                      name_of(names[1], sizeof names[1], b), out);
    assay_facts_free(runs[0]);
    assay_facts_free(runs[1]);
    return status;
}

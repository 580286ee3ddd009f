/* call_store.c - what the store knows, as facts: its runs, one of them, the history of a case. */
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "base/text.h"
#include "lab/calls.h"
#include "sensor/sensor.h"

assay_status as_call_store(assay_env *env, const char *what, const assay_options *options, as_store **out)
{
    static const char *const keys[] = {AS_STORE_KEYS, NULL};
    as_store_options         where;
    AS_TRY(as_options_only(env, options, what, keys));
    AS_TRY(as_store_options_read(env, options, &where));
    return as_lab_store(env, &where, false, out);
}

/* --- Runs --------------------------------------------------------------------------------------------------- */

static void run_add(assay_facts *f, as_table *t, const as_stored_run *run)
{
    char id[32], when[AS_DATE_BYTES];
    snprintf(id, sizeof id, "%lld", (long long)run->id);
    as_date_text(when, sizeof when, run->unix_time, AS_DATE_SECOND);
    as_facts_row(f, t,
                 (as_cell[]){{.text = id},
                             {.text = when},
                             {.text = run->kind},
                             {.text = run->state},
                             {.metric = as_metric_counted((uint64_t)run->n_trials, "1", "the store")},
                             {.text = *run->commit ? run->commit : "-"},
                             {.text = run->fingerprint},
                             {.text = run->title}});
}

static assay_status runs_tell(assay_env *env, as_store *store, as_arena *arena, assay_facts **out)
{
    static const char *const columns[] = {"id|id",         "when|when (UTC)", "kind|kind",   "state|state", "trials|trials",
                                          "commit|commit", "machine|machine", "title|title", NULL};
    as_stored_run           *runs;
    size_t                   n;
    AS_TRY(as_store_list_runs(env, store, NULL, 0, arena, &runs, &n));
    assay_facts *f = as_facts_new(env);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "runs: not enough memory for the facts of %zu", n);
    as_fact_group *g = as_facts_group(f, "runs", "Runs");
    as_table      *t = as_facts_table(f, g, "runs", "Stored runs", columns);
    f->title = as_facts_keep(f, "stored runs");
    for (size_t i = 0; i < n; i++)
        run_add(f, t, &runs[i]);
    as_facts_note(f, "store.path", as_store_path(store));
    return as_facts_done(f, out);
}

assay_status assay_stored_runs(assay_env *env, const assay_options *options, assay_facts **out)
{
    as_store *store;
    as_arena  arena = {0};
    AS_TRY(as_call_store(env, "runs", options, &store));
    assay_status status = runs_tell(env, store, &arena, out);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

assay_status assay_stored_run(assay_env *env, int64_t id, const assay_options *options, assay_facts **out)
{
    as_store     *store;
    as_arena      arena = {0};
    as_stored_run run;
    char          name[64];
    AS_TRY(as_call_store(env, "run", options, &store));
    assay_status status = as_store_get_run(env, store, id, &arena, &run);
    snprintf(name, sizeof name, "run %lld", (long long)id);
    if (status == ASSAY_OK && !*run.report)
        status = as_fail(env, ASSAY_NOT_FOUND, "report: %s has no report; `assay runs export` writes what it has", name);
    if (status == ASSAY_OK)
        status = as_facts_parse(env, name, run.report, strlen(run.report), out);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

/* --- History -------------------------------------------------------------------------------------------------- */

static as_history_point point_of(const as_past *p)
{
    return (as_history_point){.unix_time = p->unix_time,
                              .run = p->run,
                              .commit = p->commit,
                              .machine = p->fingerprint,
                              .median = p->median_ns,
                              .lo = p->lo_ns,
                              .hi = p->hi_ns};
}

/* Names similar to the one asked for help more than the whole list. */
static assay_status unknown(assay_env *env, as_store *store, as_arena *arena, const char *name)
{
    as_case_count *cases;
    size_t         n;
    AS_TRY(as_store_cases(env, store, arena, &cases, &n));
    const char **words = AS_TAKE(arena, const char *, n + 1);
    for (size_t i = 0; words && i < n; i++) {
        words[i] = cases[i].name;
        if (!strcmp(cases[i].name, name))
            return as_fail(env, ASSAY_NOT_FOUND, "history: %s has \"%s\" only from other machines; --cross-machine shows them",
                           as_store_path(store), name);
    }
    const char *near = words ? as_nearest(name, words) : NULL;
    return as_fail(env, ASSAY_NOT_FOUND, "history: %s has no case \"%s\"%s%s%s; assay history lists them", as_store_path(store),
                   name, near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static assay_status facts_give(assay_env *env, assay_facts *f, assay_facts **out)
{
    return f ? as_facts_done(f, out) : as_fail(env, ASSAY_NO_MEMORY, "history: not enough memory for the facts");
}

static assay_status one(assay_env *env, as_store *store, as_arena *arena, const char *name, const char *machine, assay_facts **out)
{
    as_past *past;
    size_t   n;
    AS_TRY(as_store_history(env, store, name, machine, arena, &past, &n));
    if (!n)
        return unknown(env, store, arena, name);
    as_history_point *points = AS_TAKE(arena, as_history_point, n);
    if (!points)
        return as_fail(env, ASSAY_NO_MEMORY, "history: not enough memory for %zu points", n);
    for (size_t i = 0; i < n; i++)
        points[i] = point_of(&past[i]);
    return facts_give(env, as_facts_of_history(env, name, points, n, NULL), out);
}

static assay_status all(assay_env *env, as_store *store, as_arena *arena, const char *machine, assay_facts **out)
{
    as_case_count *cases;
    size_t         n, n_kept = 0;
    AS_TRY(as_store_cases(env, store, arena, &cases, &n));
    as_history_case *rows = AS_TAKE(arena, as_history_case, n);
    if (!rows)
        return as_fail(env, ASSAY_NO_MEMORY, "history: not enough memory for %zu cases", n);
    for (size_t i = 0; i < n; i++) {
        as_past *past;
        size_t   n_past;
        AS_TRY(as_store_history(env, store, cases[i].name, machine, arena, &past, &n_past));
        if (n_past)
            rows[n_kept++] = (as_history_case){.name = cases[i].name, .n = (int64_t)n_past, .last = point_of(&past[n_past - 1])};
    }
    return facts_give(env, as_facts_of_cases(env, rows, n_kept, as_store_path(store)), out);
}

assay_status assay_history(assay_env *env, const char *name, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {AS_HISTORY_KEYS, NULL};
    char                     print[17];
    as_arena                 arena = {0};
    as_store                *store;
    as_store_options         where;
    AS_TRY(as_options_only(env, options, "history", keys));
    AS_TRY(as_store_options_read(env, options, &where));
    if (where.none)
        return as_fail(env, ASSAY_BAD_INPUT, "history needs a store; --store none keeps nothing");
    AS_TRY(as_lab_store(env, &where, false, &store));
    as_machine_fingerprint(print);
    const char  *machine = as_options_flag(options, "cross-machine") ? NULL : print;
    assay_status status = name ? one(env, store, &arena, name, machine, out) : all(env, store, &arena, machine, out);
    as_store_close(store);
    as_arena_drop(&arena);
    return status;
}

/* call_tidy.c - housekeeping of a store as calls: takes records out, removes runs, copies runs to another store, verifies
 * everything. */
#include <stdlib.h>

#include "base/file.h"
#include "lab/baseline.h"
#include "lab/calls.h"
#include "trace/stream.h"

/* --- A record ------------------------------------------------------------------------------------------------- */

static assay_status record_read(assay_env *env, as_store *store, as_arena *arena, int64_t id, size_t place, assay_trace **out)
{
    as_stored_run run;
    const void   *bytes;
    size_t        n;
    char          name[64];
    AS_TRY(as_store_get_run(env, store, id, arena, &run));
    if (place ? place > (size_t)run.n_trials : run.n_trials != 1)
        return as_fail(env, ASSAY_BAD_INPUT, "run %lld has %lld %s: say which, from 1 on", (long long)id, (long long)run.n_trials,
                       run.n_trials == 1 ? "record" : "records");
    AS_TRY(as_store_get_record(env, store, id, place ? place - 1 : 0, arena, &bytes, &n));
    snprintf(name, sizeof name, "run %lld", (long long)id);
    return as_trace_parse(env, name, bytes, n, out);
}

assay_status assay_stored_trace(assay_env *env, int64_t id, size_t place, const assay_options *options, assay_trace **out)
{
    as_store *store;
    as_arena  arena = {0};
    AS_TRY(as_call_store(env, "runs trace", options, &store));
    assay_status status = record_read(env, store, &arena, id, place, out);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

static assay_status records_read(assay_env *env, as_store *store, as_arena *arena, int64_t id, assay_trace ***out, size_t *n)
{
    as_stored_run run;
    AS_TRY(as_store_get_run(env, store, id, arena, &run));
    assay_trace **all = calloc((size_t)run.n_trials + 1, sizeof *all);
    if (!all)
        return as_fail(env, ASSAY_NO_MEMORY, "run %lld: not enough memory for its records", (long long)id);
    size_t       count = 0;
    assay_status status = ASSAY_OK;
    for (; status == ASSAY_OK && count < (size_t)run.n_trials; count += status == ASSAY_OK)
        status = record_read(env, store, arena, id, count + 1, &all[count]);
    if (status == ASSAY_OK) {
        *out = all;
        *n = count;
        return ASSAY_OK;
    }
    while (count-- > 0)
        assay_trace_free(all[count]);
    free(all);
    return status;
}

assay_status as_stored_traces(assay_env *env, int64_t id, const assay_options *options, assay_trace ***out, size_t *n)
{
    as_store *store;
    as_arena  arena = {0};
    AS_TRY(as_call_store(env, "report", options, &store));
    assay_status status = records_read(env, store, &arena, id, out, n);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

/* --- Removing, exporting, importing ------------------------------------------------------------------------------------------- */

assay_status assay_stored_remove(assay_env *env, const int64_t *ids, size_t n, const assay_options *options)
{
    as_store *store;
    AS_TRY(as_call_store(env, "runs rm", options, &store));
    assay_status status = as_store_remove_runs(env, store, ids, n);
    as_store_close(store);
    return status;
}

/* Oldest first, so that the ids have the same order in the other store. */
static assay_status ids_all(assay_env *env, as_store *store, as_arena *arena, const int64_t **out, size_t *n)
{
    as_stored_run *runs;
    AS_TRY(as_store_list_runs(env, store, NULL, 0, arena, &runs, n));
    int64_t *ids = AS_TAKE(arena, int64_t, *n);
    if (!ids)
        return as_fail(env, ASSAY_NO_MEMORY, "runs export: not enough memory for %zu ids", *n);
    for (size_t i = 0; i < *n; i++)
        ids[i] = runs[*n - 1 - i].id;
    *out = ids;
    return ASSAY_OK;
}

static assay_status runs_write(assay_env *env, as_store *store, as_arena *arena, const int64_t *ids, size_t n, const char *path)
{
    as_out out;
    if (!n)
        AS_TRY(ids_all(env, store, arena, &ids, &n));
    AS_TRY(as_out_open(env, path, &out));
    assay_status status = as_store_export(env, store, ids, n, out.file);
    if (status == ASSAY_OK)
        return as_out_commit(env, &out);
    as_out_abandon(&out);
    return status;
}

assay_status assay_stored_export(assay_env *env, const int64_t *ids, size_t n, const assay_options *options, const char *path)
{
    as_store *store;
    as_arena  arena = {0};
    AS_TRY(as_call_store(env, "runs export", options, &store));
    assay_status status = runs_write(env, store, &arena, ids, n, path);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

assay_status assay_stored_import(assay_env *env, const char *path, const assay_options *options, size_t *n_added, size_t *n_known)
{
    static const char *const keys[] = {AS_STORE_KEYS, NULL};
    as_store_options         where;
    as_store                *store;
    AS_TRY(as_options_only(env, options, "runs import", keys));
    AS_TRY(as_store_options_read(env, options, &where));
    AS_TRY(as_lab_store(env, &where, true, &store));
    assay_status status = as_store_import(env, store, path, n_added, n_known);
    as_store_close(store);
    return status;
}

/* --- Verifying ------------------------------------------------------------------------------------------------------ */

/* The objects that a check would need: the programs, models and data of a baseline. */
static assay_status objects_verify(assay_env *env, as_store *store, const char *name, size_t *n)
{
    as_baseline *b;
    char         path[4352];
    AS_TRY(as_baseline_load(env, store, name, &b));
    assay_status status = ASSAY_OK;
    for (int i = 0; i < b->n_cases; i++) {
        const as_baseline_case *c = &b->cases[i];
        for (int k = 0; k < c->n_objects + c->n_beside && status == ASSAY_OK; k++, ++*n)
            status = as_store_get_object(env, store, k < c->n_objects ? c->objects[k].id : c->beside[k - c->n_objects].id, path,
                                         sizeof path);
    }
    as_baseline_free(b);
    return status;
}

static assay_status all_verify(assay_env *env, as_store *store, as_arena *arena, assay_store_counts *out)
{
    assay_store_counts found = {0};
    as_named          *named;
    AS_TRY(as_store_verify(env, store, &found.runs));
    AS_TRY(as_store_list_named(env, store, "baseline", arena, &named, &found.baselines));
    for (size_t i = 0; i < found.baselines; i++)
        AS_TRY(objects_verify(env, store, named[i].name, &found.objects));
    *out = found;
    return ASSAY_OK;
}

assay_status assay_stored_verify(assay_env *env, const assay_options *options, assay_store_counts *out)
{
    as_store *store;
    as_arena  arena = {0};
    AS_TRY(as_call_store(env, "runs verify", options, &store));
    assay_status status = all_verify(env, store, &arena, out);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

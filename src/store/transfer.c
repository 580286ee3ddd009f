/* transfer.c - runs as one JSON file, "assay.runs-export/2", and back into a store.
 *
 * A trial is the bytes of its record as base64; one that schema 1 kept is an "assay.trial/1", as in files of version 1.  The file
 * may come from anybody: everything in it is read and checked against its hash before anything is written. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "store/kind.h"
#include "trace/trace_json.h"

#define SCHEMA         "assay.runs-export/2"
#define SCHEMA_OLD     "assay.runs-export/1"
#define FILE_BYTES_MAX ((uint64_t)1 << 32)
enum { RUNS_MAX = 1 << 20 };

/* --- Out --------------------------------------------------------------------------------------------------------- */

void as_runs_write_begin(as_json *w, FILE *file)
{
    as_json_start(w, file, false);
    as_json_object(w);
    as_json_key_text(w, "schema", SCHEMA);
    as_json_key(w, "runs");
    as_json_array(w);
}

void as_runs_write_end(as_json *w)
{
    as_json_array_end(w);
    as_json_object_end(w);
    as_json_finish(w);
}

static assay_status record_write(assay_env *env, as_json *w, const as_trial_row *row)
{
    char *text = malloc(as_base64_length(row->trace_bytes) + 1);
    if (!text)
        return as_fail(env, ASSAY_NO_MEMORY, "export: not enough memory for the record of '%s'", row->name);
    as_base64_write(row->trace, row->trace_bytes, text);
    as_json_text(w, text);
    free(text);
    return ASSAY_OK;
}

/* The report is JSON text inside a JSON string, because its exact bytes count for the hash. */
assay_status as_run_write(assay_env *env, as_json *w, const as_run_row *row, const assay_trace *const *trials)
{
    as_json_object(w);
    as_json_key_text(w, "kind", row->run.kind);
    as_json_key_text(w, "title", row->run.title);
    as_json_key_text(w, "fingerprint", row->run.fingerprint);
    as_json_key_text(w, "commit", row->run.commit);
    as_json_key_text(w, "state", row->run.state);
    as_json_key_i64(w, "unix_time", row->run.unix_time);
    as_json_key_text(w, "hash", row->hash);
    as_json_key_text(w, "report", row->run.report);
    as_json_key(w, "trials");
    as_json_array(w);
    for (size_t i = 0; i < row->n_trials; i++) {
        if (row->trials[i].trace)
            AS_TRY(record_write(env, w, &row->trials[i]));
        else
            as_trace_json_write(trials[i], w, true);
    }
    as_json_array_end(w);
    as_json_object_end(w);
    return ASSAY_OK;
}

static assay_status export_one(assay_env *env, as_store *s, int64_t id, as_json *w)
{
    as_arena      arena = {0};
    as_run_row    row;
    assay_trace **trials = NULL;
    size_t        n = 0;
    assay_status  status = as_run_take(env, s, id, &arena, &row, &trials, &n);
    if (status == ASSAY_OK)
        status = as_run_write(env, w, &row, (const assay_trace *const *)trials);
    as_trials_free(trials, n);
    as_arena_drop(&arena);
    return status;
}

assay_status as_store_export(assay_env *env, as_store *s, const int64_t *ids, size_t n, FILE *file)
{
    as_json w;
    as_runs_write_begin(&w, file);
    for (size_t i = 0; i < n; i++)
        AS_TRY(export_one(env, s, ids[i], &w));
    as_runs_write_end(&w);
    return ASSAY_OK;
}

/* --- In ---------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    assay_env  *env;
    const char *path;
    size_t      at;
    as_arena   *arena;
} reader; /* at: which run */

static assay_status refuse(const reader *r, const char *key, const char *why)
{
    return as_fail(r->env, ASSAY_BAD_INPUT, "import: %s: run %zu: \"%s\" %s", r->path, r->at + 1, key, why);
}

static assay_status text_read(const reader *r, const json_t *o, const char *key, const char **out)
{
    *out = json_string_value(json_object_get(o, key));
    return *out ? ASSAY_OK : refuse(r, key, "is missing or not a text");
}

static assay_status head_read(const reader *r, const json_t *o, as_stored_run *run, const char **hash)
{
    AS_TRY(text_read(r, o, "kind", &run->kind));
    AS_TRY(text_read(r, o, "title", &run->title));
    AS_TRY(text_read(r, o, "fingerprint", &run->fingerprint));
    AS_TRY(text_read(r, o, "commit", &run->commit));
    AS_TRY(text_read(r, o, "state", &run->state));
    AS_TRY(text_read(r, o, "report", &run->report));
    AS_TRY(text_read(r, o, "hash", hash));
    const json_t *when = json_object_get(o, "unix_time");
    if (!json_is_integer(when))
        return refuse(r, "unix_time", "is missing or not a whole number");
    run->unix_time = json_integer_value(when);
    return ASSAY_OK;
}

/* The bytes stay unchanged, because the hash covers them. */
static assay_status record_read(const reader *r, const char *text, as_trial_row *row)
{
    size_t   length = strlen(text);
    uint8_t *bytes = as_arena_take(r->arena, length / 4 + 1, 3, 8);
    if (!bytes)
        return as_fail(r->env, ASSAY_NO_MEMORY, "import: %s: not enough memory for a record of %zu bytes", r->path, length);
    if (!length || !as_base64_read(text, length, bytes, &row->trace_bytes))
        return refuse(r, "trials", "have a record that is not base64");
    row->trace = bytes;
    return ASSAY_OK;
}

static assay_status trial_read(const reader *r, const json_t *item, bool old, as_trial_row *row, assay_trace **out)
{
    if (json_is_string(item) == old)
        return refuse(r, "trials", "are partly of this version and partly of an older one");
    if (old)
        return as_trace_json_read(r->env, "import", r->path, item, out);
    AS_TRY(record_read(r, json_string_value(item), row));
    return as_trial_row_read(r->env, r->path, row, out);
}

static assay_status trials_read(const reader *r, const json_t *list, bool old, as_trial_row *rows, assay_trace **trials, size_t n)
{
    for (size_t i = 0; i < n; i++)
        AS_TRY(trial_read(r, json_array_get(list, i), old, &rows[i], &trials[i]));
    return ASSAY_OK;
}

static assay_status run_read(const reader *r, const json_t *o, as_run_row *row)
{
    as_stored_run run = {0};
    const char   *hash;
    const json_t *list = json_object_get(o, "trials");
    size_t        n = json_array_size(list);
    bool          old = n && !json_is_string(json_array_get(list, 0));
    AS_TRY(head_read(r, o, &run, &hash));
    if (!json_is_array(list))
        return refuse(r, "trials", "are missing");
    as_trial_row *rows = AS_TAKE(r->arena, as_trial_row, n);
    assay_trace **trials = calloc(n ? n : 1, sizeof *trials);
    if (!rows || !trials) {
        free(trials);
        return as_fail(r->env, ASSAY_NO_MEMORY, "import: %s: not enough memory for %zu trials", r->path, n);
    }
    assay_status status = trials_read(r, list, old, rows, trials, n);
    if (status == ASSAY_OK)
        status = as_run_row_again(r->env, r->arena, &run, (const assay_trace *const *)trials, rows, n, row);
    as_trials_free(trials, n);
    if (status == ASSAY_OK && strcmp(hash, row->hash))
        status = refuse(r, "hash", "does not match its content: the file was changed or cut");
    return status;
}

static assay_status runs_read(assay_env *env, const char *path, const json_t *root, as_run_batch *batch)
{
    const char   *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *runs = json_object_get(root, "runs");
    if (!schema || (strcmp(schema, SCHEMA) && strcmp(schema, SCHEMA_OLD)))
        return as_fail(env, ASSAY_BAD_INPUT, "import: %s: its schema is '%.64s' and not " SCHEMA, path,
                       schema ? schema : "missing");
    if (!json_is_array(runs) || json_array_size(runs) > RUNS_MAX)
        return as_fail(env, ASSAY_BAD_INPUT, "import: %s: \"runs\" are missing or too many", path);
    batch->n = json_array_size(runs);
    batch->rows = AS_TAKE(&batch->arena, as_run_row, batch->n);
    if (!batch->rows)
        return as_fail(env, ASSAY_NO_MEMORY, "import: %s: not enough memory for %zu runs", path, batch->n);
    for (size_t i = 0; i < batch->n; i++)
        AS_TRY(run_read(&(reader){env, path, i, &batch->arena}, json_array_get(runs, i), &batch->rows[i]));
    return ASSAY_OK;
}

assay_status as_runs_parse(assay_env *env, const char *path, const char *data, size_t n, as_run_batch *out)
{
    json_t      *root;
    as_run_batch made = {0};
    AS_TRY(as_json_parse(env, "import", path, data, n, &root));
    assay_status status = runs_read(env, path, root, &made);
    json_decref(root);
    if (status == ASSAY_OK)
        *out = made;
    else
        as_arena_drop(&made.arena);
    return status;
}

static assay_status batch_put(assay_env *env, as_store *s, const as_run_batch *batch, size_t *n_added)
{
    int64_t *ids = calloc(batch->n ? batch->n : 1, sizeof *ids);
    if (!ids)
        return as_fail(env, ASSAY_NO_MEMORY, "import: not enough memory for %zu runs", batch->n);
    assay_status status = s->kind->put_runs(env, s->db, batch->rows, batch->n, true, ids);
    *n_added = 0;
    for (size_t i = 0; i < batch->n; i++)
        *n_added += ids[i] != 0;
    free(ids);
    return status;
}

assay_status as_store_import(assay_env *env, as_store *s, const char *path, size_t *n_added, size_t *n_known)
{
    as_map       map;
    as_run_batch batch = {0};
    size_t       added = 0;
    AS_TRY(as_map_open(env, "import", path, FILE_BYTES_MAX, &map));
    assay_status status = as_runs_parse(env, path, (const char *)map.data, map.bytes, &batch);
    as_map_close(&map);
    if (status == ASSAY_OK)
        status = batch_put(env, s, &batch, &added);
    if (status == ASSAY_OK) {
        *n_added = added;
        *n_known = batch.n - added;
    }
    as_arena_drop(&batch.arena);
    return status;
}

/* store.c - opens a store by its URL and passes every request to its kind. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "store/kind.h"

#define STANDARD_DIR  ".assay"
#define STANDARD_PATH STANDARD_DIR "/runs.db"

/* --- Which store ------------------------------------------------------------------------------------------ */

static assay_status kind_find(assay_env *env, const char *name, size_t n, const as_store_kind **out)
{
    for (int i = 0; as_st_table[i]; i++)
        if (strlen(as_st_table[i]->name) == n && !strncmp(as_st_table[i]->name, name, n)) {
            *out = as_st_table[i];
            return ASSAY_OK;
        }
    if (n == 6 && !strncmp(name, "sqlite", n))
        return as_fail(
            env, ASSAY_UNSUPPORTED,
            "store: this assay was built without SQLite: install libsqlite3-dev (brew install sqlite) and build it again, or give --store none");
    return as_fail(env, ASSAY_UNSUPPORTED, "store: unknown kind of store '%.*s': a store is a path, or sqlite:PATH", (int)n, name);
}

/* "sqlite:PATH" has a scheme; in a path, a colon may follow a slash, a dot or a single letter. */
static size_t scheme_length(const char *url)
{
    size_t n = strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789");
    return n >= 2 && url[n] == ':' ? n : 0;
}

static assay_status paths_set(assay_env *env, const char *path, as_store *s)
{
    const char *slash = strrchr(path, '/');
    int         folder = slash ? (int)(slash - path) + 1 : 0;
    int         n = snprintf(s->path, sizeof s->path, "%s", path);
    int         m = snprintf(s->objects, sizeof s->objects, "%.*sobjects", folder, path);
    if (n <= 0 || (size_t)n + 16 >= sizeof s->path || (size_t)m + AS_OBJECT_ID >= sizeof s->objects)
        return as_fail(env, ASSAY_BAD_INPUT, "store: a path of %zu bytes cannot be opened", strlen(path));
    return ASSAY_OK;
}

static assay_status folder_make(assay_env *env, const char *path, bool *made)
{
    *made = !mkdir(path, 0777);
    if (!*made && errno != EEXIST)
        return as_fail(env, ASSAY_IO, "store: %s: cannot make the directory: %s", path, strerror(errno));
    return ASSAY_OK;
}

/* Measurements of this machine do not belong in a repository.  To commit them anyway, empty this file: it is not written again. */
static void ignore_write(void)
{
    int fd = open(STANDARD_DIR "/.gitignore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    ssize_t written = write(fd, "*\n", 2);
    (void)written; /* the store works without it */
    close(fd);
}

static assay_status open_as(assay_env *env, const char *url, bool create, as_store *s)
{
    bool   standard = !url || !*url, made = false;
    size_t scheme = standard ? 0 : scheme_length(url);
    AS_TRY(kind_find(env, scheme ? url : "sqlite", scheme ? scheme : strlen("sqlite"), &s->kind));
    AS_TRY(paths_set(env, standard ? STANDARD_PATH : url + (scheme ? scheme + 1 : 0), s));
    if (standard && create)
        AS_TRY(folder_make(env, STANDARD_DIR, &made));
    if (made)
        ignore_write();
    return s->kind->open(env, s->path, create, &s->db);
}

assay_status as_store_open(assay_env *env, const char *url, bool create, as_store **out)
{
    as_store *s = calloc(1, sizeof *s);
    if (!s)
        return as_fail(env, ASSAY_NO_MEMORY, "store: not enough memory to open it");
    s->lock = -1;
    assay_status status = open_as(env, url, create, s);
    if (status != ASSAY_OK)
        free(s);
    else
        *out = s;
    return status;
}

assay_status as_store_ready(assay_env *env, const char *url)
{
    bool        standard = !url || !*url;
    as_store    s = {.lock = -1}, *opened = NULL;
    struct stat st;
    size_t      scheme = standard ? 0 : scheme_length(url);
    AS_TRY(kind_find(env, scheme ? url : "sqlite", scheme ? scheme : strlen("sqlite"), &s.kind));
    AS_TRY(paths_set(env, standard ? STANDARD_PATH : url + (scheme ? scheme + 1 : 0), &s));
    if (stat(s.path, &st) || (S_ISREG(st.st_mode) && st.st_size == 0)) /* empty: another process may be making it at this moment */
        return standard ? as_folder_check(env, STANDARD_DIR) : as_out_check(env, s.path);
    AS_TRY(as_store_open(env, url, false, &opened));
    as_store_close(opened);
    return access(s.path, W_OK) ? as_fail(env, ASSAY_IO, "store: %s cannot be written: %s", s.path, strerror(errno)) : ASSAY_OK;
}

void as_store_close(as_store *s)
{
    if (!s)
        return;
    s->kind->close(s->db);
    if (s->lock >= 0)
        close(s->lock);
    free(s);
}

const char *as_store_path(const as_store *s) { return s->path; }

/* --- Runs ---------------------------------------------------------------------------------------------------- */

assay_status as_store_put_run(assay_env *env, as_store *s, const as_stored_run *run, const assay_trace *const *trials, size_t n,
                              int64_t *id)
{
    as_arena     arena = {0};
    as_run_row   row;
    int64_t      given = 0;
    assay_status status = as_run_row_make(env, &arena, run, trials, n, &row);
    if (status == ASSAY_OK)
        status = s->kind->put_runs(env, s->db, &row, 1, false, &given);
    if (status == ASSAY_OK && id)
        *id = given;
    as_arena_drop(&arena);
    return status;
}

assay_status as_store_list_runs(assay_env *env, as_store *s, const char *kind, size_t limit, as_arena *arena, as_stored_run **out,
                                size_t *n)
{
    return s->kind->list_runs(env, s->db, kind, limit, arena, out, n);
}

static assay_status trials_read(assay_env *env, as_store *s, const as_trial_row *rows, size_t n, assay_trace ***out)
{
    assay_trace **trials = calloc(n ? n : 1, sizeof *trials);
    assay_status  status = ASSAY_OK;
    if (!trials)
        return as_fail(env, ASSAY_NO_MEMORY, "store: not enough memory for %zu trials", n);
    for (size_t i = 0; i < n && status == ASSAY_OK; i++)
        status = as_trial_row_read(env, s->path, &rows[i], &trials[i]);
    if (status != ASSAY_OK)
        as_trials_free(trials, n);
    else
        *out = trials;
    return status;
}

/* SQLite detects damaged pages, but not changed digits; the hash does. */
static assay_status hash_check(assay_env *env, as_store *s, as_arena *arena, const as_run_row *row, assay_trace *const *trials)
{
    as_run_row again;
    AS_TRY(as_run_row_again(env, arena, &row->run, (const assay_trace *const *)trials, row->trials, row->n_trials, &again));
    if (strcmp(again.hash, row->hash))
        return as_fail(env, ASSAY_BAD_INPUT,
                       "store: %s: run %lld does not match its hash: the store is damaged; it was left as it is", s->path,
                       (long long)row->run.id);
    return ASSAY_OK;
}

assay_status as_run_take(assay_env *env, as_store *s, int64_t id, as_arena *arena, as_run_row *row, assay_trace ***out, size_t *n)
{
    assay_trace **trials = NULL;
    AS_TRY(s->kind->get_run(env, s->db, id, arena, row));
    AS_TRY(s->kind->get_trials(env, s->db, id, arena, &row->trials, &row->n_trials));
    AS_TRY(trials_read(env, s, row->trials, row->n_trials, &trials));
    assay_status status = hash_check(env, s, arena, row, trials);
    if (status != ASSAY_OK) {
        as_trials_free(trials, row->n_trials);
        return status;
    }
    *out = trials;
    *n = row->n_trials;
    return ASSAY_OK;
}

assay_status as_store_get_run(assay_env *env, as_store *s, int64_t id, as_arena *arena, as_stored_run *out)
{
    as_run_row    row;
    assay_trace **trials;
    size_t        n;
    AS_TRY(as_run_take(env, s, id, arena, &row, &trials, &n));
    as_trials_free(trials, n);
    *out = row.run;
    return ASSAY_OK;
}

assay_status as_store_get_trials(assay_env *env, as_store *s, int64_t id, assay_trace ***out, size_t *n)
{
    as_arena     arena = {0};
    as_run_row   row;
    assay_status status = as_run_take(env, s, id, &arena, &row, out, n);
    as_arena_drop(&arena);
    return status;
}

/* What schema 1 kept has no record yet. */
static assay_status record_of(assay_env *env, const assay_trace *t, as_arena *arena, const void **out, size_t *n)
{
    as_run_row    row;
    as_stored_run run = {.title = t->name};
    AS_TRY(as_run_row_make(env, arena, &run, &t, 1, &row));
    *out = row.trials[0].trace;
    *n = row.trials[0].trace_bytes;
    return ASSAY_OK;
}

assay_status as_store_get_record(assay_env *env, as_store *s, int64_t id, size_t place, as_arena *arena, const void **out,
                                 size_t *n)
{
    as_run_row    row;
    assay_trace **trials;
    size_t        n_trials;
    AS_TRY(as_run_take(env, s, id, arena, &row, &trials, &n_trials));
    assay_status status = ASSAY_OK;
    if (place >= n_trials)
        status = as_fail(env, ASSAY_NOT_FOUND, "store: %s: run %lld has %zu trials", s->path, (long long)id, n_trials);
    else if (row.trials[place].trace)
        *out = row.trials[place].trace, *n = row.trials[place].trace_bytes;
    else
        status = record_of(env, trials[place], arena, out, n);
    as_trials_free(trials, n_trials);
    return status;
}

static assay_status run_verify(assay_env *env, as_store *s, int64_t id)
{
    as_arena      arena = {0};
    as_stored_run run;
    assay_status  status = as_store_get_run(env, s, id, &arena, &run);
    as_arena_drop(&arena);
    return status;
}

/* Checks all runs even if one is damaged: to repair a store, one has to know how many are intact. */
static assay_status runs_verify(assay_env *env, as_store *s, const as_stored_run *runs, size_t n)
{
    char   first[512] = "";
    size_t n_damaged = 0;
    for (size_t i = 0; i < n; i++) {
        assay_status status = run_verify(env, s, runs[i].id);
        if (status != ASSAY_OK && status != ASSAY_BAD_INPUT)
            return status;
        if (status != ASSAY_OK && !n_damaged++)
            snprintf(first, sizeof first, "%s", assay_message(env));
    }
    return n_damaged
               ? as_fail(env, ASSAY_BAD_INPUT, "%s (%zu of %zu runs are damaged; export those that are whole)", first, n_damaged, n)
               : ASSAY_OK;
}

assay_status as_store_verify(assay_env *env, as_store *s, size_t *n_runs)
{
    as_arena       arena = {0};
    as_stored_run *runs;
    AS_TRY(s->kind->check(env, s->db));
    assay_status status = s->kind->list_runs(env, s->db, NULL, 0, &arena, &runs, n_runs);
    if (status == ASSAY_OK)
        status = runs_verify(env, s, runs, *n_runs);
    as_arena_drop(&arena);
    return status;
}

assay_status as_store_remove_runs(assay_env *env, as_store *s, const int64_t *ids, size_t n)
{
    return s->kind->remove_runs(env, s->db, ids, n);
}

assay_status as_store_remove_run(assay_env *env, as_store *s, int64_t id) { return s->kind->remove_runs(env, s->db, &id, 1); }

/* --- History of a case ---------------------------------------------------------------------------------------- */

assay_status as_store_history(assay_env *env, as_store *s, const char *name, const char *fingerprint, as_arena *arena,
                              as_past **out, size_t *n)
{
    return s->kind->history(env, s->db, name, fingerprint, arena, out, n);
}

assay_status as_store_cases(assay_env *env, as_store *s, as_arena *arena, as_case_count **out, size_t *n)
{
    return s->kind->cases(env, s->db, arena, out, n);
}

assay_status as_store_get_variance(assay_env *env, as_store *s, const char *name, const char *fingerprint, as_variance *out)
{
    return s->kind->get_variance(env, s->db, name, fingerprint, out);
}

/* --- Named values ------------------------------------------------------------------------------------------------ */

assay_status as_store_check_name(assay_env *env, const char *what, const char *name)
{
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    enum { LONGEST = 64 };
    size_t n = strlen(name);
    if (!n || n > LONGEST || !strchr(LETTERS, name[0]) || strspn(name, LETTERS "._-") != n)
        return as_fail(
            env, ASSAY_BAD_INPUT,
            "%s '%.80s' is not a valid name: use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
            what, name);
    return ASSAY_OK;
#undef LETTERS
}

assay_status as_store_put_named(assay_env *env, as_store *s, const char *kind, const char *name, const char *json, int64_t run,
                                bool replace)
{
    AS_TRY(as_store_check_name(env, kind, name));
    return s->kind->put_named(env, s->db, kind,
                              &(as_named){.name = name, .unix_time = (int64_t)time(NULL), .run = run, .json = json}, replace);
}

assay_status as_store_get_named(assay_env *env, as_store *s, const char *kind, const char *name, as_arena *arena, const char **json,
                                int64_t *run)
{
    as_named value;
    AS_TRY(as_store_check_name(env, kind, name));
    AS_TRY(s->kind->get_named(env, s->db, kind, name, arena, &value));
    *json = value.json;
    if (run)
        *run = value.run;
    return ASSAY_OK;
}

assay_status as_store_list_named(assay_env *env, as_store *s, const char *kind, as_arena *arena, as_named **out, size_t *n)
{
    return s->kind->list_named(env, s->db, kind, arena, out, n);
}

assay_status as_store_remove_named(assay_env *env, as_store *s, const char *kind, const char *name)
{
    AS_TRY(as_store_check_name(env, kind, name));
    return s->kind->remove_named(env, s->db, kind, name);
}

assay_status as_store_rename_named(assay_env *env, as_store *s, const char *kind, const char *from, const char *to, bool replace)
{
    AS_TRY(as_store_check_name(env, kind, from));
    AS_TRY(as_store_check_name(env, kind, to));
    return s->kind->rename_named(env, s->db, kind, from, to, replace);
}

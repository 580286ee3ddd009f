/* st_sqlite.c - runs, cases and named values in a SQLite file. */
/* needs: sqlite3 */
#include <string.h>

#include "store/kind.h"
#include "store/sqlite.h"

static assay_status open_file(assay_env *env, const char *path, bool create, void **out)
{
    as_sqlite   *s = NULL;
    assay_status status = as_sqlite_open(env, path, create, &s);
    if (status == ASSAY_OK)
        *out = s;
    return status;
}

static void close_file(void *db) { as_sqlite_close(db); }

static assay_status check_file(assay_env *env, void *db) { return as_sqlite_check(env, db); }

/* --- Runs in ------------------------------------------------------------------------------------------------------ */

static assay_status arms_put(assay_env *env, as_sqlite *s, int64_t trial, const as_trial_row *row)
{
    as_query q;
    as_query_open(&q, env, s, "saving a run",
                  "INSERT INTO arms (trial, place, name, median_ns, lo_ns, hi_ns, p25_ns) VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (int i = 0; i < row->n_arms && q.status == ASSAY_OK; i++) {
        const as_arm_row *a = &row->arms[i];
        as_query_bind_i64(&q, trial);
        as_query_bind_i64(&q, i);
        as_query_bind_text(&q, a->name);
        as_query_bind_f64(&q, a->median_ns);
        as_query_bind_f64(&q, a->lo_ns);
        as_query_bind_f64(&q, a->hi_ns);
        as_query_bind_f64(&q, a->p25_ns);
        as_query_run(&q);
    }
    return as_query_close(&q);
}

static assay_status trial_put(assay_env *env, as_sqlite *s, int64_t run, int64_t place, const as_trial_row *row)
{
    as_query q;
    as_query_open(
        &q, env, s, "saving a run",
        "INSERT INTO trials (run, place, name, state, sigma_launch, sigma_round, rounds_a_launch, n_launches, json, samples,"
        " trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    as_query_bind_i64(&q, run);
    as_query_bind_i64(&q, place);
    as_query_bind_text(&q, row->name);
    as_query_bind_text(&q, row->state);
    as_query_bind_f64(&q, row->variance.sigma_launch);
    as_query_bind_f64(&q, row->variance.sigma_round);
    as_query_bind_f64(&q, row->variance.rounds_a_launch);
    as_query_bind_i64(&q, row->variance.n_launches);
    as_query_bind_text(&q, row->json ? row->json : "");
    as_query_bind_blob(&q, row->samples, row->samples_bytes);
    as_query_bind_blob(&q, row->trace, row->trace_bytes);
    as_query_run(&q);
    AS_TRY(as_query_close(&q));
    return arms_put(env, s, sqlite3_last_insert_rowid(s->db), row);
}

static assay_status run_put(assay_env *env, as_sqlite *s, const as_run_row *row, int64_t *id)
{
    as_query q;
    as_query_open(
        &q, env, s, "saving a run",
        "INSERT INTO runs (hash, kind, title, fingerprint, git_commit, state, unix_time, n_trials, report) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    as_query_bind_text(&q, row->hash);
    as_query_bind_text(&q, row->run.kind);
    as_query_bind_text(&q, row->run.title);
    as_query_bind_text(&q, row->run.fingerprint);
    as_query_bind_text(&q, row->run.commit);
    as_query_bind_text(&q, row->run.state);
    as_query_bind_i64(&q, row->run.unix_time);
    as_query_bind_i64(&q, (int64_t)row->n_trials);
    as_query_bind_text(&q, row->run.report);
    as_query_run(&q);
    AS_TRY(as_query_close(&q));
    *id = sqlite3_last_insert_rowid(s->db);
    for (size_t i = 0; i < row->n_trials; i++)
        AS_TRY(trial_put(env, s, *id, (int64_t)i, &row->trials[i]));
    return ASSAY_OK;
}

static assay_status run_known(assay_env *env, as_sqlite *s, const char *hash, bool *out)
{
    as_query q;
    as_query_open(&q, env, s, "looking for a run", "SELECT 1 FROM runs WHERE hash = ?");
    as_query_bind_text(&q, hash);
    *out = as_query_row(&q);
    return as_query_close(&q);
}

static assay_status rows_put(assay_env *env, as_sqlite *s, const as_run_row *rows, size_t n, bool only_new, int64_t *ids)
{
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        ids[i] = 0;
        if (only_new)
            AS_TRY(run_known(env, s, rows[i].hash, &known));
        if (!known)
            AS_TRY(run_put(env, s, &rows[i], &ids[i]));
    }
    return ASSAY_OK;
}

static assay_status put_runs(assay_env *env, void *db, const as_run_row *rows, size_t n, bool only_new, int64_t *ids)
{
    AS_TRY(as_sqlite_begin(env, db, "saving a run"));
    return as_sqlite_end(env, db, "saving a run", rows_put(env, db, rows, n, only_new, ids));
}

/* --- Runs out ------------------------------------------------------------------------------------------------------ */

#define RUN_COLUMNS "id, kind, title, fingerprint, git_commit, state, unix_time, n_trials"

static void run_read(as_query *q, as_arena *arena, as_stored_run *out)
{
    *out = (as_stored_run){.id = as_query_i64(q, 0),
                           .kind = as_query_text(q, 1, arena),
                           .title = as_query_text(q, 2, arena),
                           .fingerprint = as_query_text(q, 3, arena),
                           .commit = as_query_text(q, 4, arena),
                           .state = as_query_text(q, 5, arena),
                           .unix_time = as_query_i64(q, 6),
                           .n_trials = as_query_i64(q, 7)};
}

static assay_status list_runs(assay_env *env, void *db, const char *kind, size_t limit, as_arena *arena, as_stored_run **out,
                              size_t *n)
{
    as_query q;
    void    *items = NULL;
    size_t   count = 0, cap = 0;
    as_query_open(&q, env, db, "listing runs",
                  "SELECT " RUN_COLUMNS " FROM runs WHERE ?1 IS NULL OR kind = ?1 ORDER BY unix_time DESC, id DESC LIMIT ?2");
    as_query_bind_text(&q, kind);
    as_query_bind_i64(&q, limit && limit < INT64_MAX ? (int64_t)limit : -1);
    while (as_query_row(&q)) {
        as_stored_run *run = as_query_more(&q, arena, &items, &count, &cap, sizeof *run);
        if (run)
            run_read(&q, arena, run);
    }
    AS_TRY(as_query_close(&q));
    *out = items;
    *n = count;
    return ASSAY_OK;
}

static assay_status no_run(assay_env *env, const as_sqlite *s, int64_t id)
{
    return as_fail(env, ASSAY_NOT_FOUND, "store: %s: there is no run %lld; `assay runs list` shows the runs", s->path,
                   (long long)id);
}

static assay_status get_run(assay_env *env, void *db, int64_t id, as_arena *arena, as_run_row *out)
{
    as_query   q;
    as_run_row row = {0};
    as_query_open(&q, env, db, "reading a run", "SELECT " RUN_COLUMNS ", report, hash FROM runs WHERE id = ?");
    as_query_bind_i64(&q, id);
    bool found = as_query_row(&q);
    if (found) {
        run_read(&q, arena, &row.run);
        row.run.report = as_query_text(&q, 8, arena);
        const char *hash = as_query_text(&q, 9, arena);
        snprintf(row.hash, sizeof row.hash, "%s", hash ? hash : "");
    }
    AS_TRY(as_query_close(&q));
    if (!found)
        return no_run(env, db, id);
    *out = row;
    return ASSAY_OK;
}

static assay_status run_exists(assay_env *env, as_sqlite *s, int64_t id)
{
    as_query q;
    as_query_open(&q, env, s, "looking for a run", "SELECT 1 FROM runs WHERE id = ?");
    as_query_bind_i64(&q, id);
    bool found = as_query_row(&q);
    AS_TRY(as_query_close(&q));
    return found ? ASSAY_OK : no_run(env, s, id);
}

static assay_status get_trials(assay_env *env, void *db, int64_t id, as_arena *arena, as_trial_row **out, size_t *n)
{
    as_query q;
    void    *items = NULL;
    size_t   count = 0, cap = 0;
    AS_TRY(run_exists(env, db, id));
    as_query_open(&q, env, db, "reading trials",
                  "SELECT name, state, json, samples, trace FROM trials WHERE run = ? ORDER BY place");
    as_query_bind_i64(&q, id);
    while (as_query_row(&q)) {
        as_trial_row *row = as_query_more(&q, arena, &items, &count, &cap, sizeof *row);
        if (!row)
            break;
        *row = (as_trial_row){
            .name = as_query_text(&q, 0, arena), .state = as_query_text(&q, 1, arena), .json = as_query_text(&q, 2, arena)};
        row->samples = as_query_blob(&q, 3, arena, &row->samples_bytes);
        row->trace = as_query_blob(&q, 4, arena, &row->trace_bytes);
    }
    AS_TRY(as_query_close(&q));
    *out = items;
    *n = count;
    return ASSAY_OK;
}

/* --- Removing runs ----------------------------------------------------------------------------------------------------- */

static assay_status free_check(assay_env *env, as_sqlite *s, int64_t id)
{
    as_query    q;
    as_arena    arena = {0};
    const char *kind = NULL, *name = NULL;
    as_query_open(&q, env, s, "removing a run", "SELECT kind, name FROM named WHERE run = ? ORDER BY kind, name");
    as_query_bind_i64(&q, id);
    if (as_query_row(&q)) {
        kind = as_query_text(&q, 0, &arena);
        name = as_query_text(&q, 1, &arena);
    }
    assay_status status = as_query_close(&q);
    if (status == ASSAY_OK && kind)
        status = as_fail(env, ASSAY_BAD_INPUT, "store: %s: the %s '%s' needs run %lld: remove that first", s->path, kind, name,
                         (long long)id);
    as_arena_drop(&arena);
    return status;
}

static assay_status run_remove(assay_env *env, as_sqlite *s, int64_t id)
{
    as_query q;
    AS_TRY(free_check(env, s, id));
    as_query_open(&q, env, s, "removing a run", "DELETE FROM runs WHERE id = ?");
    as_query_bind_i64(&q, id);
    as_query_run(&q);
    AS_TRY(as_query_close(&q));
    return sqlite3_changes(s->db) ? ASSAY_OK : no_run(env, s, id);
}

static assay_status remove_runs(assay_env *env, void *db, const int64_t *ids, size_t n)
{
    AS_TRY(as_sqlite_begin(env, db, "removing a run"));
    assay_status status = ASSAY_OK;
    for (size_t i = 0; i < n && status == ASSAY_OK; i++)
        status = run_remove(env, db, ids[i]);
    return as_sqlite_end(env, db, "removing a run", status);
}

/* --- History ------------------------------------------------------------------------------------------------------- */

/* Only trials whose numbers can be trusted. */
#define COUNTS "t.state IN ('complete', 'partial')"
/* The case of a candidate.  In a comparison each candidate is a case of its own, and a profile is not the same case as a bench,
 * because it is measured differently.  The baseline that a check ran again does not count: it is old code, measured today. */
#define IS_CASE COUNTS " AND a.median_ns IS NOT NULL AND NOT (r.kind = 'check' AND a.place = 0)"
#define CASE_NAME                                                                                          \
    "CASE WHEN r.kind = 'compare' OR (r.kind = 'tune' AND t.name <> a.name) THEN t.name || ', ' || a.name" \
    " WHEN r.kind = 'profile' THEN t.name || ', profile' ELSE t.name END"
#define ARMS " FROM trials t JOIN runs r ON r.id = t.run JOIN arms a ON a.trial = t.id"

static assay_status history(assay_env *env, void *db, const char *name, const char *fingerprint, as_arena *arena, as_past **out,
                            size_t *n)
{
    as_query q;
    void    *items = NULL;
    size_t   count = 0, cap = 0;
    as_query_open(&q, env, db, "reading the history",
                  "SELECT r.id, r.unix_time, r.git_commit, r.fingerprint, a.name, a.median_ns, a.lo_ns, a.hi_ns, a.p25_ns" ARMS
                  " WHERE " CASE_NAME " = ?1 AND (?2 IS NULL OR r.fingerprint = ?2) AND " IS_CASE
                  " ORDER BY r.unix_time, r.id, t.place, a.place");
    as_query_bind_text(&q, name);
    as_query_bind_text(&q, fingerprint);
    while (as_query_row(&q)) {
        as_past *p = as_query_more(&q, arena, &items, &count, &cap, sizeof *p);
        if (p)
            *p = (as_past){.run = as_query_i64(&q, 0),
                           .unix_time = as_query_i64(&q, 1),
                           .commit = as_query_text(&q, 2, arena),
                           .fingerprint = as_query_text(&q, 3, arena),
                           .arm = as_query_text(&q, 4, arena),
                           .median_ns = as_query_f64(&q, 5),
                           .lo_ns = as_query_f64(&q, 6),
                           .hi_ns = as_query_f64(&q, 7),
                           .p25_ns = as_query_f64(&q, 8)};
    }
    AS_TRY(as_query_close(&q));
    *out = items;
    *n = count;
    return ASSAY_OK;
}

static assay_status cases(assay_env *env, void *db, as_arena *arena, as_case_count **out, size_t *n)
{
    as_query q;
    void    *items = NULL;
    size_t   count = 0, cap = 0;
    as_query_open(&q, env, db, "listing cases",
                  "SELECT " CASE_NAME " AS name, count(*)" ARMS " WHERE " IS_CASE " GROUP BY 1 ORDER BY 1");
    while (as_query_row(&q)) {
        as_case_count *c = as_query_more(&q, arena, &items, &count, &cap, sizeof *c);
        if (c)
            *c = (as_case_count){as_query_text(&q, 0, arena), as_query_i64(&q, 1)};
    }
    AS_TRY(as_query_close(&q));
    *out = items;
    *n = count;
    return ASSAY_OK;
}

static assay_status get_variance(assay_env *env, void *db, const char *name, const char *fingerprint, as_variance *out)
{
    as_query    q;
    as_variance v = {0};
    as_query_open(&q, env, db, "reading a variance",
                  "SELECT t.sigma_launch, t.sigma_round, t.rounds_a_launch, t.n_launches FROM trials t JOIN runs r ON r.id = t.run"
                  " WHERE t.name = ? AND r.fingerprint = ? AND t.sigma_round IS NOT NULL AND " COUNTS
                  " ORDER BY r.unix_time DESC, r.id DESC, t.place DESC LIMIT 1");
    as_query_bind_text(&q, name);
    as_query_bind_text(&q, fingerprint);
    bool found = as_query_row(&q);
    if (found)
        v = (as_variance){as_query_f64(&q, 0), as_query_f64(&q, 1), as_query_f64(&q, 2), (uint32_t)as_query_i64(&q, 3)};
    AS_TRY(as_query_close(&q));
    if (!found)
        return as_fail(env, ASSAY_NOT_FOUND, "store: %s: the variance of '%s' was never measured on this machine",
                       ((as_sqlite *)db)->path, name);
    *out = v;
    return ASSAY_OK;
}

/* --- Named values ----------------------------------------------------------------------------------------------------- */

static assay_status no_named(assay_env *env, const as_sqlite *s, const char *kind, const char *name)
{
    return as_fail(env, ASSAY_NOT_FOUND, "store: %s: there is no %s '%s'", s->path, kind, name);
}

static assay_status is_named(assay_env *env, as_sqlite *s, const char *kind, const char *name, bool *out)
{
    as_query q;
    as_query_open(&q, env, s, "looking for a name", "SELECT 1 FROM named WHERE kind = ? AND name = ?");
    as_query_bind_text(&q, kind);
    as_query_bind_text(&q, name);
    *out = as_query_row(&q);
    return as_query_close(&q);
}

/* BAD_INPUT where the name is taken and must not be replaced. */
static assay_status name_free(assay_env *env, as_sqlite *s, const char *kind, const char *name, bool replace)
{
    bool taken;
    AS_TRY(is_named(env, s, kind, name, &taken));
    return taken && !replace ? as_fail(env, ASSAY_BAD_INPUT, "store: %s: the %s '%s' exists already", s->path, kind, name)
                             : ASSAY_OK;
}

static assay_status value_put(assay_env *env, as_sqlite *s, const char *kind, const as_named *value, bool replace)
{
    as_query q;
    AS_TRY(name_free(env, s, kind, value->name, replace));
    if (value->run)
        AS_TRY(run_exists(env, s, value->run));
    as_query_open(&q, env, s, "saving a name",
                  "INSERT OR REPLACE INTO named (kind, name, unix_time, run, json) VALUES (?, ?, ?, nullif(?, 0), ?)");
    as_query_bind_text(&q, kind);
    as_query_bind_text(&q, value->name);
    as_query_bind_i64(&q, value->unix_time);
    as_query_bind_i64(&q, value->run);
    as_query_bind_text(&q, value->json);
    as_query_run(&q);
    return as_query_close(&q);
}

static assay_status put_named(assay_env *env, void *db, const char *kind, const as_named *value, bool replace)
{
    AS_TRY(as_sqlite_begin(env, db, "saving a name"));
    return as_sqlite_end(env, db, "saving a name", value_put(env, db, kind, value, replace));
}

static void named_read(as_query *q, as_arena *arena, as_named *out)
{
    *out = (as_named){as_query_text(q, 0, arena), as_query_i64(q, 1), as_query_i64(q, 2), as_query_text(q, 3, arena)};
}

static assay_status get_named(assay_env *env, void *db, const char *kind, const char *name, as_arena *arena, as_named *out)
{
    as_query q;
    as_named value = {0};
    as_query_open(&q, env, db, "reading a name", "SELECT name, unix_time, run, json FROM named WHERE kind = ? AND name = ?");
    as_query_bind_text(&q, kind);
    as_query_bind_text(&q, name);
    bool found = as_query_row(&q);
    if (found)
        named_read(&q, arena, &value);
    AS_TRY(as_query_close(&q));
    if (!found)
        return no_named(env, db, kind, name);
    *out = value;
    return ASSAY_OK;
}

static assay_status list_named(assay_env *env, void *db, const char *kind, as_arena *arena, as_named **out, size_t *n)
{
    as_query q;
    void    *items = NULL;
    size_t   count = 0, cap = 0;
    as_query_open(&q, env, db, "listing names", "SELECT name, unix_time, run, json FROM named WHERE kind = ? ORDER BY name");
    as_query_bind_text(&q, kind);
    while (as_query_row(&q)) {
        as_named *value = as_query_more(&q, arena, &items, &count, &cap, sizeof *value);
        if (value)
            named_read(&q, arena, value);
    }
    AS_TRY(as_query_close(&q));
    *out = items;
    *n = count;
    return ASSAY_OK;
}

static assay_status remove_named(assay_env *env, void *db, const char *kind, const char *name)
{
    as_query   q;
    as_sqlite *s = db;
    as_query_open(&q, env, s, "removing a name", "DELETE FROM named WHERE kind = ? AND name = ?");
    as_query_bind_text(&q, kind);
    as_query_bind_text(&q, name);
    as_query_run(&q);
    AS_TRY(as_query_close(&q));
    return sqlite3_changes(s->db) ? ASSAY_OK : no_named(env, s, kind, name);
}

static assay_status value_rename(assay_env *env, as_sqlite *s, const char *kind, const char *from, const char *to, bool replace)
{
    as_query q;
    bool     there;
    AS_TRY(is_named(env, s, kind, from, &there));
    if (!there)
        return no_named(env, s, kind, from);
    if (!strcmp(from, to))
        return ASSAY_OK;
    AS_TRY(name_free(env, s, kind, to, replace));
    as_query_open(&q, env, s, "renaming", "UPDATE OR REPLACE named SET name = ? WHERE kind = ? AND name = ?");
    as_query_bind_text(&q, to);
    as_query_bind_text(&q, kind);
    as_query_bind_text(&q, from);
    as_query_run(&q);
    return as_query_close(&q);
}

static assay_status rename_named(assay_env *env, void *db, const char *kind, const char *from, const char *to, bool replace)
{
    AS_TRY(as_sqlite_begin(env, db, "renaming"));
    return as_sqlite_end(env, db, "renaming", value_rename(env, db, kind, from, to, replace));
}

static assay_status mentions(assay_env *env, void *db, const char *text, bool *out)
{
    as_query q;
    as_query_open(&q, env, db, "looking for an object", "SELECT 1 FROM named WHERE instr(json, ?) LIMIT 1");
    as_query_bind_text(&q, text);
    *out = as_query_row(&q);
    return as_query_close(&q);
}

const as_store_kind as_st_sqlite = {
    .name = "sqlite",
    .open = open_file,
    .close = close_file,
    .check = check_file,
    .put_runs = put_runs,
    .list_runs = list_runs,
    .get_run = get_run,
    .get_trials = get_trials,
    .remove_runs = remove_runs,
    .history = history,
    .cases = cases,
    .get_variance = get_variance,
    .put_named = put_named,
    .get_named = get_named,
    .list_named = list_named,
    .remove_named = remove_named,
    .rename_named = rename_named,
    .mentions = mentions,
};

/* sqlite_open.c - opens the database of a store: is it a database, is it undamaged, is it ours, does it have this schema? */
/* needs: sqlite3 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/sqlite.h"
#include "store/store.h"

#define MAGIC "SQLite format 3" /* and its NUL: 16 bytes */
enum {
    APPLICATION = 0x41534159, /* "ASAY" */
    HEADER_BYTES = 100,
    VERSION_AT = 60,
    APPLICATION_AT = 68,
    BUSY_MS = 20000, /* a writer of a large run holds the lock for well under a second */
    OPEN_TRIES = 200,
    OPEN_WAIT_US = 25000,
    CHECKED_BYTES =
        64
        << 20, /* larger files are not read completely on every opening: as_store_verify() does that, and a run is checked against
                * its hash when it is read */
};

/* --- The schema, and the way to it ------------------------------------------------------------------------------- */

static const char *const migrations[AS_STORE_SCHEMA] = {
    /* 0 to 1: an empty database becomes a store.  AUTOINCREMENT, because the id of a removed run must not come back. */
    "CREATE TABLE runs ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    " git_commit TEXT NOT NULL, state TEXT NOT NULL, unix_time INTEGER NOT NULL, n_trials INTEGER NOT NULL, report TEXT NOT NULL);"
    "CREATE INDEX runs_by_hash ON runs (hash);"
    "CREATE INDEX runs_by_time ON runs (unix_time, id);"
    "CREATE TABLE trials ("
    " id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE, place INTEGER NOT NULL,"
    " name TEXT NOT NULL, state TEXT NOT NULL, sigma_launch REAL, sigma_round REAL, rounds_a_launch REAL, n_launches INTEGER,"
    " json TEXT NOT NULL, samples BLOB);"
    "CREATE UNIQUE INDEX trials_by_run ON trials (run, place);"
    "CREATE INDEX trials_by_name ON trials (name, run);"
    "CREATE TABLE arms ("
    " trial INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE, place INTEGER NOT NULL, name TEXT NOT NULL,"
    " median_ns REAL, lo_ns REAL, hi_ns REAL, p25_ns REAL, PRIMARY KEY (trial, place)) WITHOUT ROWID;"
    "CREATE TABLE named ("
    " kind TEXT NOT NULL, name TEXT NOT NULL, unix_time INTEGER NOT NULL, run INTEGER REFERENCES runs (id), json TEXT NOT NULL,"
    " PRIMARY KEY (kind, name)) WITHOUT ROWID;"
    "CREATE INDEX named_by_run ON named (run);",
    /* 1 to 2: the whole record of a trial; json is then "", and samples NULL. */
    "ALTER TABLE trials ADD COLUMN trace BLOB;",
};

static assay_status number_get(assay_env *env, const as_sqlite *s, const char *sql, int64_t *out)
{
    as_query q;
    *out = 0;
    as_query_open(&q, env, s, "opening", sql);
    if (as_query_row(&q))
        *out = as_query_i64(&q, 0);
    return as_query_close(&q);
}

static assay_status steps_take(assay_env *env, as_sqlite *s, const char *const *steps, int n)
{
    char    sql[96];
    int64_t version;
    AS_TRY(number_get(env, s, "PRAGMA user_version", &version)); /* read again: another process may have been faster */
    for (int64_t i = version; i < n; i++)
        AS_TRY(as_sqlite_do(env, s, "changing it to this schema", steps[i]));
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d; PRAGMA application_id = %d", n, APPLICATION);
    return version < n ? as_sqlite_do(env, s, "changing it to this schema", sql) : ASSAY_OK;
}

assay_status as_sqlite_migrate(assay_env *env, as_sqlite *s, const char *const *steps, int n)
{
    int64_t version;
    AS_TRY(number_get(env, s, "PRAGMA user_version", &version));
    if (version >= n)
        return ASSAY_OK;
    AS_TRY(as_sqlite_begin(env, s, "changing it to this schema"));
    return as_sqlite_end(env, s, "changing it to this schema", steps_take(env, s, steps, n));
}

/* --- Is it a store? ---------------------------------------------------------------------------------------------- */

static assay_status owner_check(assay_env *env, const char *path, int64_t application, int64_t version)
{
    if (application && application != APPLICATION)
        return as_fail(env, ASSAY_BAD_INPUT, "store: %s: is a database of another program", path);
    if (application && version > AS_STORE_SCHEMA)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "store: %s: was written by a newer assay (schema %lld, this one knows %d): use that one, or another file",
                       path, (long long)version, AS_STORE_SCHEMA);
    return ASSAY_OK;
}

static int64_t be32(const uint8_t *p)
{
    return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

/* By the first bytes, before SQLite touches anything. */
static assay_status header_check(assay_env *env, const char *path)
{
    as_map map;
    AS_TRY(as_map_open(env, "store", path, 0, &map));
    assay_status status = ASSAY_OK;
    if (map.bytes < HEADER_BYTES || memcmp(map.data, MAGIC, sizeof MAGIC))
        status = as_fail(env, ASSAY_BAD_INPUT, "store: %s: not a store: it does not begin as an SQLite database", path);
    else
        status = owner_check(env, path, be32(map.data + APPLICATION_AT), be32(map.data + VERSION_AT));
    as_map_close(&map);
    return status;
}

static assay_status file_check(assay_env *env, const char *path, bool create)
{
    struct stat st;
    if (stat(path, &st)) {
        if ((errno == ENOENT || errno == ENOTDIR) && !create)
            return as_fail(env, ASSAY_NOT_FOUND, "store: %s: does not exist yet: profile, bench, compare and baseline make it",
                           path);
        return errno == ENOENT ? ASSAY_OK : as_fail(env, ASSAY_IO, "store: %s: cannot open: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode))
        return as_fail(env, ASSAY_BAD_INPUT, "store: %s: is %s, not a file", path,
                       S_ISDIR(st.st_mode) ? "a directory" : "something else");
    if (access(path, R_OK | W_OK))
        return as_fail(env, ASSAY_IO, "store: %s: cannot open for writing: %s", path, strerror(errno));
    if (st.st_size == 0) /* also left by a process that was killed while it made the store */
        return create ? ASSAY_OK : as_fail(env, ASSAY_NOT_FOUND, "store: %s: is empty", path);
    return header_check(env, path);
}

/* Through SQLite, which also reads the log beside the file. */
static assay_status snapshot_check(assay_env *env, const as_sqlite *s)
{
    int64_t application, version, n_tables;
    AS_TRY(number_get(env, s, "PRAGMA application_id", &application));
    AS_TRY(number_get(env, s, "PRAGMA user_version", &version));
    AS_TRY(number_get(env, s, "SELECT count(*) FROM sqlite_master", &n_tables));
    AS_TRY(owner_check(env, s->path, application, version));
    if (!application && (n_tables || version))
        return as_fail(env, ASSAY_BAD_INPUT, "store: %s: is a database of another program", s->path);
    return ASSAY_OK;
}

/* In one snapshot: another process may be making the store at this moment. */
static assay_status content_check(assay_env *env, const as_sqlite *s)
{
    AS_TRY(as_sqlite_do(env, s, "opening", "BEGIN"));
    return as_sqlite_end(env, s, "opening", snapshot_check(env, s));
}

/* SQLite's message without its heading. */
static const char *finding(const char *text)
{
    const char *line = text ? strrchr(text, '\n') : NULL;
    return line ? line + 1 : text ? text : "no answer";
}

static assay_status pages_check(assay_env *env, const as_sqlite *s, const char *pragma)
{
    as_arena arena = {0};
    as_query q;
    as_query_open(&q, env, s, "checking it", pragma);
    const char  *found = as_query_row(&q) ? as_query_text(&q, 0, &arena) : "";
    assay_status status = as_query_close(&q);
    if (status == ASSAY_OK && (!found || strcmp(found, "ok")))
        status =
            as_fail(env, ASSAY_BAD_INPUT, "store: %s: the file is damaged; it was left as it is (%s)", s->path, finding(found));
    as_arena_drop(&arena);
    return status;
}

/* In a large file only the baselines, which a check would run, and the root of everything are checked. */
static assay_status opened_check(assay_env *env, const as_sqlite *s)
{
    struct stat st;
    bool        large = !stat(s->path, &st) && st.st_size > CHECKED_BYTES;
    return pages_check(env, s, large ? "PRAGMA quick_check(named)" : "PRAGMA quick_check(1)");
}

assay_status as_sqlite_check(assay_env *env, const as_sqlite *s)
{
    AS_TRY(pages_check(env, s, "PRAGMA integrity_check(1)"));
    as_query q;
    as_query_open(&q, env, s, "checking it", "PRAGMA foreign_key_check");
    bool         found = as_query_row(&q);
    assay_status status = as_query_close(&q);
    return status == ASSAY_OK && found
               ? as_fail(env, ASSAY_BAD_INPUT,
                         "store: %s: the file is damaged; it was left as it is (a row belongs to a run that is not there)", s->path)
               : status;
}

/* --- Opening ------------------------------------------------------------------------------------------------------ */

/* SQLite does not wait for a lock while it switches to a write-ahead log, and two processes may make the same store at the same
 * time. */
static assay_status log_set(assay_env *env, const as_sqlite *s)
{
    int code = SQLITE_BUSY;
    for (int i = 0; i < OPEN_TRIES && (code & 0xff) == SQLITE_BUSY; i++) {
        if (i)
            usleep(OPEN_WAIT_US);
        code = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    }
    return code == SQLITE_OK ? ASSAY_OK : as_sqlite_fail(env, s, "opening", code);
}

static assay_status connect_to(assay_env *env, as_sqlite *s, bool create)
{
    int code = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), NULL);
    if (code != SQLITE_OK)
        return as_sqlite_fail(env, s, "opening", code);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    AS_TRY(content_check(env, s));
    AS_TRY(opened_check(env, s));
    AS_TRY(log_set(env, s));
    /* FULL: a run that took minutes to measure is on the disk when the store says so.  The file may come from anybody, so its
     * schema is not trusted. */
    AS_TRY(as_sqlite_do(
        env, s, "opening",
        "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON"));
    return as_sqlite_migrate(env, s, migrations, AS_STORE_SCHEMA);
}

assay_status as_sqlite_open(assay_env *env, const char *path, bool create, as_sqlite **out)
{
    AS_TRY(file_check(env, path, create));
    as_sqlite *s = calloc(1, sizeof *s);
    if (!s)
        return as_fail(env, ASSAY_NO_MEMORY, "store: %s: not enough memory to open it", path);
    snprintf(s->path, sizeof s->path, "%s", path);
    assay_status status = connect_to(env, s, create);
    if (status != ASSAY_OK)
        as_sqlite_close(s);
    else
        *out = s;
    return status;
}

void as_sqlite_close(as_sqlite *s)
{
    sqlite3_close(s->db);
    free(s);
}

/* sqlite_query.c - statements of SQLite that keep their first failure. */
/* needs: sqlite3 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "store/sqlite.h"

typedef struct reason {
    int          code;
    assay_status status;
    const char  *text;
} reason;

/* External causes are described in our own words, followed by SQLite's. */
static const reason reasons[] = {
    {SQLITE_CORRUPT, ASSAY_BAD_INPUT, "the file is damaged; it was left as it is"},
    {SQLITE_NOTADB, ASSAY_BAD_INPUT, "the file is damaged or not a store; it was left as it is"},
    {SQLITE_BUSY, ASSAY_IO, "another process kept it locked for too long; nothing was changed"},
    {SQLITE_READONLY, ASSAY_IO, "it cannot be written; nothing was changed"},
    {SQLITE_CANTOPEN, ASSAY_IO, "it cannot be opened for writing; nothing was changed"},
    {SQLITE_PERM, ASSAY_IO, "it may not be written; nothing was changed"},
    {SQLITE_FULL, ASSAY_IO, "the disk is full; nothing was changed"},
    {SQLITE_IOERR, ASSAY_IO, "it cannot be read or written; nothing was changed"},
    {SQLITE_TOOBIG, ASSAY_BAD_INPUT, "a value is larger than SQLite can hold; nothing was changed"},
    {SQLITE_NOMEM, ASSAY_NO_MEMORY, "not enough memory; nothing was changed"},
    {SQLITE_ERROR, ASSAY_BAD_INPUT, "its tables are not those of this schema"},
};

assay_status as_sqlite_fail(assay_env *env, const as_sqlite *s, const char *doing, int code)
{
    const char *own = s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code);
    for (size_t i = 0; i < AS_COUNT(reasons); i++)
        if (reasons[i].code == (code & 0xff))
            return as_fail(env, reasons[i].status, "store: %s: %s: %s (%s)", s->path, doing, reasons[i].text, own);
    return as_fail(env, ASSAY_INTERNAL, "store: %s: %s: %s", s->path, doing, own);
}

assay_status as_sqlite_do(assay_env *env, const as_sqlite *s, const char *doing, const char *sql)
{
    int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? ASSAY_OK : as_sqlite_fail(env, s, doing, code);
}

assay_status as_sqlite_begin(assay_env *env, const as_sqlite *s, const char *doing)
{
    return as_sqlite_do(env, s, doing, "BEGIN IMMEDIATE");
}

assay_status as_sqlite_end(assay_env *env, const as_sqlite *s, const char *doing, assay_status status)
{
    if (status == ASSAY_OK)
        status = as_sqlite_do(env, s, doing, "COMMIT");
    if (status != ASSAY_OK && !sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* --- One statement --------------------------------------------------------------------------------------------- */

static void check(as_query *q, int code)
{
    if (q->status == ASSAY_OK && code != SQLITE_OK)
        q->status = as_sqlite_fail(q->env, q->s, q->doing, code);
}

static void no_room(as_query *q)
{
    if (q->status == ASSAY_OK)
        q->status = as_fail(q->env, ASSAY_NO_MEMORY, "store: %s: %s: not enough memory", q->s->path, q->doing);
}

void as_query_open(as_query *q, assay_env *env, const as_sqlite *s, const char *doing, const char *sql)
{
    *q = (as_query){.env = env, .s = s, .doing = doing};
    check(q, sqlite3_prepare_v2(s->db, sql, -1, &q->stmt, NULL));
}

void as_query_bind_text(as_query *q, const char *value)
{
    if (q->status == ASSAY_OK)
        check(q, value ? sqlite3_bind_text64(q->stmt, ++q->n_bound, value, strlen(value), SQLITE_STATIC, SQLITE_UTF8)
                       : sqlite3_bind_null(q->stmt, ++q->n_bound));
}

void as_query_bind_i64(as_query *q, int64_t value)
{
    if (q->status == ASSAY_OK)
        check(q, sqlite3_bind_int64(q->stmt, ++q->n_bound, value));
}

void as_query_bind_f64(as_query *q, double value)
{
    if (q->status == ASSAY_OK)
        check(q, isnan(value) ? sqlite3_bind_null(q->stmt, ++q->n_bound) : sqlite3_bind_double(q->stmt, ++q->n_bound, value));
}

void as_query_bind_blob(as_query *q, const void *data, size_t n)
{
    if (q->status == ASSAY_OK)
        check(q,
              data ? sqlite3_bind_blob64(q->stmt, ++q->n_bound, data, n, SQLITE_STATIC) : sqlite3_bind_null(q->stmt, ++q->n_bound));
}

bool as_query_row(as_query *q)
{
    if (q->status != ASSAY_OK)
        return false;
    int code = sqlite3_step(q->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        check(q, code);
    return code == SQLITE_ROW;
}

const char *as_query_text(as_query *q, int column, as_arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(q->stmt, column);
    const char *kept = as_arena_text(arena, text ? text : "");
    if (!kept)
        no_room(q);
    return kept;
}

int64_t as_query_i64(const as_query *q, int column) { return sqlite3_column_int64(q->stmt, column); }

double as_query_f64(const as_query *q, int column)
{
    return sqlite3_column_type(q->stmt, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(q->stmt, column);
}

const void *as_query_blob(as_query *q, int column, as_arena *arena, size_t *n)
{
    const void *data = sqlite3_column_blob(q->stmt, column);
    *n = data ? (size_t)sqlite3_column_bytes(q->stmt, column) : 0;
    void *kept = *n ? as_arena_take(arena, *n, 1, 8) : NULL;
    if (kept)
        memcpy(kept, data, *n);
    else if (*n)
        no_room(q);
    return kept;
}

void as_query_run(as_query *q)
{
    while (as_query_row(q))
        ;
    q->n_bound = 0;
    if (q->status == ASSAY_OK)
        check(q, sqlite3_reset(q->stmt));
}

assay_status as_query_close(as_query *q)
{
    sqlite3_finalize(q->stmt); /* returns the code of the last step, which is known */
    q->stmt = NULL;
    return q->status;
}

void *as_query_more(as_query *q, as_arena *arena, void **items, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        size_t room = *cap ? 2 * *cap : 16;
        void  *moved = as_arena_take(arena, room, size, alignof(max_align_t));
        if (!moved) {
            no_room(q);
            return NULL;
        }
        if (*n)
            memcpy(moved, *items, *n * size);
        *items = moved;
        *cap = room;
    }
    return (char *)*items + size * (*n)++;
}

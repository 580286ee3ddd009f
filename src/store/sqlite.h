/* sqlite.h - the connection and the statement, for st_sqlite.c alone.
 *
 * A query keeps its first failure: later calls do nothing, there are no more rows, and as_query_close() returns it.  So a
 * statement needs no checks in between: open, bind in order, rows, close. */
#ifndef AS_STORE_SQLITE_H
#define AS_STORE_SQLITE_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/env.h"

typedef struct as_sqlite {
    sqlite3 *db;
    char     path[4096];
} as_sqlite;

/* --- Opening: sqlite_open.c ------------------------------------------------------------------------------- */

assay_status as_sqlite_open(assay_env *env, const char *path, bool create, as_sqlite **out);
void         as_sqlite_close(as_sqlite *s);
/* Checks every page, index and reference; takes as long as reading the whole file. */
assay_status as_sqlite_check(assay_env *env, const as_sqlite *s);
/* Migrates from the file's schema (its user_version) to n, step by step in one transaction; steps[i] leads from i to i + 1. */
assay_status as_sqlite_migrate(assay_env *env, as_sqlite *s, const char *const *steps, int n);

/* --- Statements: sqlite_query.c --------------------------------------------------------------------------- */

/* SQLite's code as a status and a message "store: PATH: DOING: why". */
assay_status as_sqlite_fail(assay_env *env, const as_sqlite *s, const char *doing, int code);
/* Statements without rows. */
assay_status as_sqlite_do(assay_env *env, const as_sqlite *s, const char *doing, const char *sql);
/* Takes the write lock at once, so that what is read in the transaction is still true when it writes. */
assay_status as_sqlite_begin(assay_env *env, const as_sqlite *s, const char *doing);
/* Commits when status is OK, otherwise rolls back and returns the status. */
assay_status as_sqlite_end(assay_env *env, const as_sqlite *s, const char *doing, assay_status status);

typedef struct as_query {
    assay_env       *env;
    const as_sqlite *s;
    const char      *doing;
    sqlite3_stmt    *stmt;
    int              n_bound;
    assay_status     status;
} as_query;

void        as_query_open(as_query *q, assay_env *env, const as_sqlite *s, const char *doing, const char *sql);
void        as_query_bind_text(as_query *q, const char *value); /* NULL is NULL */
void        as_query_bind_i64(as_query *q, int64_t value);
void        as_query_bind_f64(as_query *q, double value); /* NaN is NULL */
void        as_query_bind_blob(as_query *q, const void *data, size_t n);
bool        as_query_row(as_query *q); /* is there another row? */
const char *as_query_text(as_query *q, int column, as_arena *arena);
int64_t     as_query_i64(const as_query *q, int column);
double      as_query_f64(const as_query *q, int column); /* NULL is NaN */
const void *as_query_blob(as_query *q, int column, as_arena *arena, size_t *n);
/* Runs a statement without rows, and resets it to be bound again. */
void         as_query_run(as_query *q);
assay_status as_query_close(as_query *q);
/* One more item at the end of an array in the arena; NULL, and the query has failed, when there is no memory. */
void *as_query_more(as_query *q, as_arena *arena, void **items, size_t *n, size_t *cap, size_t size);

#endif

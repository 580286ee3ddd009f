/* sqlite_test.c - the file of a store: killed writers, many writers, damage, other programs' files, older and newer schemas.
 *
 * The tests use SQLite itself to make files and to kill writers; the build may lack it, so its symbols are weak here. */
#if __has_include(<sqlite3.h>)
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sqlite.h"
#include "store/test_store.h"

#pragma weak sqlite3_open
#pragma weak sqlite3_close
#pragma weak sqlite3_exec
#pragma weak sqlite3_errmsg
#pragma weak sqlite3_trace_v2
#pragma weak sqlite3_auto_extension
#pragma weak as_sqlite_migrate

/* A file made with SQLite directly, not by assay. */
static void by_hand(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    if (!as_st_table[0])
        skip("built without SQLite");
    expect(sqlite3_open(path, &db) == SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Runs `work` in a process of its own; returns how it ended. */
static int child(int (*work)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(work(arg));
    int how = 0;
    expect(pid > 0 && waitpid(pid, &how, 0) == pid);
    return how;
}

/* --- Killed ------------------------------------------------------------------------------------------------------ */

typedef struct victim {
    const char *path;
    int         statements;
    rlim_t      bytes;
} victim;
static int statements_left; /* of the child */

static int on_statement(unsigned kind, void *context, void *statement, void *text)
{
    (void)kind, (void)context, (void)statement, (void)text;
    if (statements_left-- == 0)
        kill(getpid(), SIGKILL);
    return 0;
}

static int watch(sqlite3 *db, char **message, const void *api)
{
    (void)message, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_statement, NULL);
}

static int write_one(void *arg)
{
    const victim *v = arg;
    assay_env     env = {0};
    as_store     *s;
    if (v->statements >= 0) {
        statements_left = v->statements;
        sqlite3_auto_extension((void (*)(void))watch);
    }
    if (v->bytes) { /* a write beyond this ends the process in the middle of its bytes */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){v->bytes, v->bytes});
    }
    if (as_store_open(&env, v->path, true, &s) != ASSAY_OK || store_put(&env, s, "of a victim", 7, NULL) != ASSAY_OK)
        return 1;
    as_store_close(s);
    return 0;
}

/* Every stored run has all its trials; returns how many runs there are. */
static size_t expect_whole(assay_env *env, const char *name)
{
    as_store      *s = store_open(env, name); /* which checks the file */
    as_arena       arena = {0};
    as_stored_run *runs;
    size_t         n;
    expect_ok(env, as_store_list_runs(env, s, NULL, 0, &arena, &runs, &n));
    for (size_t i = 0; i < n; i++) {
        assay_trace **trials;
        size_t        n_trials;
        expect_ok(env, as_store_get_trials(env, s, runs[i].id, &trials, &n_trials));
        expect_eq(n_trials, 2);
        expect_eq(trials[0]->n_shots, 60);
        as_trials_free(trials, n_trials);
    }
    as_arena_drop(&arena);
    as_store_close(s);
    return n;
}

Test(store, holds_all_of_a_run_or_nothing_when_its_writer_is_killed_between_any_two_statements)
{
    assay_env *env = store_env();
    size_t     before = 0;
    int        how = 1, n_killed = 0;
    as_store_close(store_open(env, "killed.db"));
    for (int k = 0; how; k++) {
        how = child(write_one, &(victim){as_test_path("killed.db"), k, 0});
        expect(how == 0 || (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL));
        size_t now = expect_whole(env, "killed.db");
        expect(now == before || (how == 0 && now == before + 1)); /* the last statement is the commit, and the process dies before
                                                                   * it */
        before = now;
        n_killed += how != 0;
    }
    expect_eq(before, 1);
    expect(n_killed > 12);
}

Test(store, is_made_whole_or_made_again_when_its_maker_is_killed)
{
    assay_env *env = store_env();
    int        how = 1, n_killed = 0;
    if (!as_st_table[0])
        skip("built without SQLite");
    for (int k = 0; how; k++) {
        char name[32];
        snprintf(name, sizeof name, "maker%d.db", k);
        how = child(write_one, &(victim){as_test_path(name), k, 0});
        expect(how == 0 || (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL));
        expect_eq(expect_whole(env, name), how == 0);
        n_killed += how != 0;
    }
    expect(n_killed > 20);
}

Test(store, holds_all_of_a_run_or_nothing_when_its_writer_dies_in_the_middle_of_the_bytes)
{
    assay_env *env = store_env();
    int        how = 1, n_killed = 0, n_kept = 0;
    for (rlim_t bytes = 1000; how; bytes += 5000) {
        char name[32];
        snprintf(name, sizeof name, "torn%ld.db", (long)bytes);
        as_store_close(store_open(env, name));
        how = child(write_one, &(victim){as_test_path(name), -1, bytes});
        if (how && !(WIFSIGNALED(how) && WTERMSIG(how) == SIGXFSZ))
            fail("the writer of at most %ld bytes ended by %#x, and not by SIGXFSZ", (long)bytes, how);
        size_t now = expect_whole(env, name);
        expect(now == 1 || (now == 0 && how));
        n_killed += how != 0;
        n_kept += how && now; /* it died after the commit, while the log was written back */
    }
    expect(n_killed > 5);
    expect(n_kept > 0 && n_kept < n_killed);
}

/* --- Many writers --------------------------------------------------------------------------------------------------- */

enum { N_WRITERS = 3, N_RUNS = 50 };

static int write_many(const char *path, int writer)
{
    assay_env env = {0};
    as_store *s;
    char      title[32];
    if (as_store_open(&env, path, true, &s) != ASSAY_OK)
        return 1;
    for (int i = 0; i < N_RUNS; i++) {
        snprintf(title, sizeof title, "%d-%d", writer, i);
        if (store_put(&env, s, title, i, NULL) != ASSAY_OK)
            return 2;
    }
    as_store_close(s);
    return 0;
}

Test(store, loses_nothing_of_several_processes_that_make_it_and_write_at_once)
{
    assay_env  *env = store_env();
    const char *path = as_test_path("many.db");
    pid_t       pids[N_WRITERS];
    int         how;
    bool        seen[N_WRITERS][N_RUNS] = {{false}};
    if (!as_st_table[0])
        skip("built without SQLite");
    fflush(NULL);
    for (int i = 0; i < N_WRITERS; i++)
        if (!(pids[i] = fork()))
            _exit(write_many(path, i));
    for (int i = 0; i < N_WRITERS; i++)
        expect(waitpid(pids[i], &how, 0) == pids[i] && how == 0);
    expect_eq(expect_whole(env, "many.db"), N_WRITERS * N_RUNS);
    as_store      *s = store_open(env, "many.db");
    as_arena       arena = {0};
    as_stored_run *runs;
    size_t         n;
    expect_ok(env, as_store_list_runs(env, s, NULL, 0, &arena, &runs, &n));
    for (size_t i = 0; i < n; i++) {
        int writer, at;
        expect(sscanf(runs[i].title, "%d-%d", &writer, &at) == 2 && !seen[writer][at]);
        seen[writer][at] = true;
    }
    as_arena_drop(&arena);
    as_store_close(s);
}

/* --- Refused and left unchanged ------------------------------------------------------------------------------------------ */

/* Both ways of opening are refused, and no byte of the file changes. */
static void expect_refused(assay_env *env, const char *path, assay_status status, const char *part)
{
    as_store *s;
    size_t    n_before, n_after;
    char     *before = store_bytes(path, &n_before), wal[4200];
    expect_fails(env, as_store_open(env, path, true, &s), status, part);
    expect_fails(env, as_store_open(env, path, false, &s), status, part);
    char *after = store_bytes(path, &n_after);
    expect(n_before == n_after && !memcmp(before, after, n_before));
    snprintf(wal, sizeof wal, "%s-wal", path);
    expect(access(wal, F_OK));
    free(before);
    free(after);
}

Test(store, refuses_what_is_no_database)
{
    assay_env *env = store_env();
    as_store  *s;
    if (!as_st_table[0])
        skip("built without SQLite");
    expect_ok(env, as_file_write(env, as_test_path("text.db"), "I am a text.\n", 13));
    expect_refused(env, as_test_path("text.db"), ASSAY_BAD_INPUT, "not a store");
    expect_fails(env, as_store_open(env, as_test_dir(), true, &s), ASSAY_BAD_INPUT, "is a directory");
    expect_fails(env, as_store_open(env, as_test_path("none.db"), false, &s), ASSAY_NOT_FOUND, "does not exist yet");
    expect(access(as_test_path("none.db"), F_OK));
    expect_fails(env, as_store_open(env, as_test_path("no/such/place.db"), true, &s), ASSAY_IO, "cannot be opened");
    expect_fails(env, as_store_open(env, as_test_path("text.db/x.db"), true, &s), ASSAY_IO, "cannot open");
}

/* Two processes begin with the same new store: one finds the file that the other has just made. */
Test(store, is_ready_while_another_process_makes_it)
{
    assay_env *env = store_env();
    if (!as_st_table[0])
        skip("built without SQLite");
    expect_ok(env, as_file_write(env, as_test_path("new.db"), "", 0));
    expect_ok(env, as_store_ready(env, as_test_path("new.db")));
}

Test(store, refuses_the_database_of_another_program)
{
    assay_env *env = store_env();
    by_hand(as_test_path("mail.db"), "CREATE TABLE mails (a); PRAGMA user_version = 1");
    expect_refused(env, as_test_path("mail.db"), ASSAY_BAD_INPUT, "is a database of another program");
    by_hand(as_test_path("owned.db"), "CREATE TABLE runs (a); PRAGMA application_id = 1234");
    expect_refused(env, as_test_path("owned.db"), ASSAY_BAD_INPUT, "is a database of another program");
}

Test(store, refuses_a_newer_schema)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "newer.db");
    expect_ok(env, store_put(env, s, "a", 1, NULL));
    as_store_close(s);
    by_hand(as_test_path("newer.db"), "PRAGMA user_version = 7");
    expect_refused(env, as_test_path("newer.db"), ASSAY_BAD_INPUT, "was written by a newer assay (schema 7, this one knows 2)");
}

Test(store, refuses_a_file_that_was_cut)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "cut.db");
    size_t     n;
    for (int i = 0; i < 10; i++)
        expect_ok(env, store_put(env, s, "a", i, NULL));
    as_store_close(s);
    char               *bytes = store_bytes(as_test_path("cut.db"), &n);
    static const double shares[] = {0.9, 0.5, 0.1};
    for (size_t i = 0; i < AS_COUNT(shares); i++) {
        expect_ok(env, as_file_write(env, as_test_path("cut.db"), bytes, (size_t)((double)n * shares[i])));
        expect_refused(env, as_test_path("cut.db"), ASSAY_BAD_INPUT, "damaged");
    }
    expect_ok(env, as_file_write(env, as_test_path("cut.db"), bytes, 60));
    expect_refused(env, as_test_path("cut.db"), ASSAY_BAD_INPUT, "not a store");
    free(bytes);
}

Test(store, refuses_a_file_in_which_a_page_was_overwritten)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "hole.db");
    size_t     n, page = 4096;
    for (int i = 0; i < 10; i++)
        expect_ok(env, store_put(env, s, "a", i, NULL));
    as_store_close(s);
    char *bytes = store_bytes(as_test_path("hole.db"), &n);
    for (size_t at = page; at < 6 * page; at += page) { /* roots of tables and indices */
        char *copy = malloc(n);
        expect(copy);
        memcpy(copy, bytes, n);
        memset(copy + at, 0xa5, page);
        expect_ok(env, as_file_write(env, as_test_path("hole.db"), copy, n));
        expect_refused(env, as_test_path("hole.db"), ASSAY_BAD_INPUT, "damaged");
        free(copy);
    }
    free(bytes);
}

/* --- Large, and damaged where opening does not look ------------------------------------------------------------------------ */

static long long page_of(const char *path, const char *table)
{
    sqlite3      *db = NULL;
    sqlite3_stmt *q = NULL;
    expect_eq(sqlite3_open(path, &db), SQLITE_OK);
    expect_eq(sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_master WHERE name = ?", -1, &q, NULL), SQLITE_OK);
    sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
    expect_eq(sqlite3_step(q), SQLITE_ROW);
    long long page = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return page;
}

/* Overwrites a few bytes in place, and returns what was there. */
static void bytes_swap(const char *path, long long at, char *bytes, size_t n)
{
    char  old[64];
    FILE *file = fopen(path, "r+b");
    expect(file && n <= sizeof old && !fseek(file, (long)at, SEEK_SET) && fread(old, 1, n, file) == n &&
           !fseek(file, (long)at, SEEK_SET) && fwrite(bytes, 1, n, file) == n);
    expect_eq(fclose(file), 0);
    memcpy(bytes, old, n);
}

Test(store, verifies_all_of_a_file_that_is_too_large_to_be_read_whole_when_it_is_opened)
{
    assay_env  *env = store_env();
    as_store   *s = store_open(env, "large.db");
    const char *path = as_test_path("large.db");
    char        hole[16];
    size_t      n;
    for (int i = 0; i < 10; i++)
        expect_ok(env, store_put(env, s, "a", i, NULL));
    as_store_close(s);
    by_hand(path, "CREATE TABLE padding (x); INSERT INTO padding VALUES (zeroblob(70000000))");
    s = store_open(env, "large.db");
    expect_ok(env, as_store_verify(env, s, &n));
    expect_eq(n, 10);
    as_store_close(s);
    memset(hole, 0xa5, sizeof hole);
    long long at = (page_of(path, "arms") - 1) * 4096;
    bytes_swap(path, at, hole, sizeof hole);
    s = store_open(env, "large.db"); /* opening does not look there */
    expect_fails(env, as_store_verify(env, s, &n), ASSAY_BAD_INPUT, "damaged");
    expect_eq(store_count(env, s), 10); /* undamaged data can still be read */
    as_store_close(s);
    bytes_swap(path, at, hole, sizeof hole);
    at = (page_of(path, "named") - 1) * 4096;
    bytes_swap(path, at, hole, sizeof hole); /* the baselines: opening checks what a check would run */
    expect_fails(env, as_store_open(env, path, false, &s), ASSAY_BAD_INPUT, "damaged");
    bytes_swap(path, at, hole, sizeof hole);
    s = store_open(env, "large.db");
    expect_ok(env, as_store_verify(env, s, &n));
    as_store_close(s);
}

Test(store, holds_a_run_against_its_hash_when_it_is_read)
{
    assay_env  *env = store_env();
    as_store   *s = store_open(env, "digit.db");
    const char *path = as_test_path("digit.db");
    int64_t     id[2];
    size_t      n;
    for (int i = 0; i < 2; i++)
        expect_ok(env, store_put(env, s, i ? "whole" : "broken", i, &id[i]));
    as_store_close(s);
    by_hand(path, "UPDATE trials SET trace = (SELECT trace FROM trials WHERE run = 2 AND place = 0) WHERE run = 1 AND place = 0");
    s = store_open(env, "digit.db");
    as_arena      arena = {0};
    as_stored_run run;
    assay_trace **trials = NULL;
    FILE         *file = tmpfile();
    expect_fails(env, as_store_get_run(env, s, id[0], &arena, &run), ASSAY_BAD_INPUT,
                 "run 1 does not match its hash: the store is damaged");
    expect_fails(env, as_store_get_trials(env, s, id[0], &trials, &n), ASSAY_BAD_INPUT, "run 1 does not match");
    expect_fails(env, as_store_export(env, s, id, 2, file), ASSAY_BAD_INPUT, "run 1 does not match");
    expect_fails(env, as_store_verify(env, s, &n), ASSAY_BAD_INPUT, "1 of 2 runs are damaged");
    expect_ok(env, as_store_get_run(env, s, id[1], &arena, &run));
    expect_ok(env, as_store_export(env, s, id + 1, 1, file));
    expect_eq(store_count(env, s), 2);
    fclose(file);
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, refuses_tables_that_are_not_of_its_schema)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "tables.db");
    as_store_close(s);
    by_hand(as_test_path("tables.db"), "DROP TABLE arms");
    s = store_open(env, "tables.db");
    expect_fails(env, store_put(env, s, "a", 1, NULL), ASSAY_BAD_INPUT, "its tables are not those of this schema");
    expect_eq(store_count(env, s), 0);
    as_store_close(s);
}

static int write_as_nobody(void *arg)
{
    assay_env env = {0};
    as_store *s;
    (void)arg;
    if (!geteuid() && setuid(65534))
        return 2;
    if (as_store_open(&env, as_test_path("locked/new.db"), true, &s) != ASSAY_IO || !strstr(env.message, "cannot be opened"))
        return 3;
    if (as_store_open(&env, as_test_path("locked/old.db"), true, &s) != ASSAY_IO || !strstr(env.message, "cannot open for writing"))
        return 4;
    return 0;
}

Test(store, says_so_where_nothing_can_be_written)
{
    assay_env *env = store_env();
    mkdir(as_test_path("locked"), 0777);
    as_store_close(store_open(env, "locked/old.db"));
    expect(!chmod(as_test_dir(), 0755) && !chmod(as_test_path("locked/old.db"), 0444) && !chmod(as_test_path("locked"), 0555));
    int how = child(write_as_nobody, NULL);
    expect(!chmod(as_test_path("locked"), 0755));
    expect_eq(how, 0);
    expect(access(as_test_path("locked/new.db"), F_OK));
}

/* --- Schemas ----------------------------------------------------------------------------------------------------------- */

Test(store, brings_a_file_of_schema_0_to_its_own)
{
    assay_env *env = store_env();
    as_store  *s = NULL;
    by_hand(as_test_path("zero.db"),
            "PRAGMA application_id = 1095975257; PRAGMA user_version = 0; CREATE TABLE x (a); DROP TABLE x");
    expect_ok(env, as_store_open(env, as_test_path("zero.db"), false, &s));
    expect_ok(env, store_put(env, s, "a", 1, NULL));
    as_store_close(s);
    expect_eq(expect_whole(env, "zero.db"), 1);
}

static int count_row(void *arg, int n, char **values, char **names)
{
    (void)n, (void)names;
    *(int *)arg = atoi(values[0]);
    return 0;
}

static int number_in(sqlite3 *db, const char *sql)
{
    int found = -1;
    sqlite3_exec(db, sql, count_row, &found, NULL);
    return found;
}

Test(store, takes_a_store_of_schema_1_with_its_runs)
{
    assay_env    *env = store_env();
    as_store     *s = store_open(env, "one.db");
    assay_trace **trials, *t = store_trial("matmul/64", 10, 1000.0, true);
    int64_t       id = store_put_old(env, s, t), next;
    size_t        n;
    as_store_close(s);
    by_hand(as_test_path("one.db"), "ALTER TABLE trials DROP COLUMN trace; PRAGMA user_version = 1");
    s = store_open(env, "one.db");
    expect_ok(env, as_store_verify(env, s, &n));
    expect_eq(n, 1);
    expect_ok(env, as_store_get_trials(env, s, id, &trials, &n));
    expect_eq(trials[0]->n_shots, t->n_shots);
    as_trials_free(trials, n);
    expect_ok(env, store_put(env, s, "new", 3, &next));
    expect_ok(env, as_store_verify(env, s, &n));
    expect_eq(n, 2);
    assay_trace_free(t);
    as_store_close(s);
}

Test(store, takes_every_step_between_schemas_in_order_or_none_of_them)
{
    static const char *const good[] = {"CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1",
                                       "INSERT INTO a VALUES (10, (SELECT y FROM a))"};
    static const char *const bad[] = {"CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1",
                                      "INSERT INTO nowhere VALUES (1)"};
    assay_env               *env = store_env();
    as_sqlite                s = {.path = "steps.db"};
    by_hand(as_test_path("steps.db"), "CREATE TABLE a (x); INSERT INTO a VALUES (41); PRAGMA user_version = 1");
    expect(sqlite3_open(as_test_path("steps.db"), &s.db) == SQLITE_OK);
    expect_fails(env, as_sqlite_migrate(env, &s, bad, 3), ASSAY_BAD_INPUT, "changing it to this schema");
    expect_eq(number_in(s.db, "PRAGMA user_version"), 1);
    expect_eq(number_in(s.db, "SELECT count(*) FROM pragma_table_info('a')"), 1);
    expect_ok(env, as_sqlite_migrate(env, &s, good, 3));
    expect_eq(number_in(s.db, "PRAGMA user_version"), 3);
    expect_eq(number_in(s.db, "SELECT y FROM a WHERE x = 41"), 42);
    expect_eq(number_in(s.db, "SELECT y FROM a WHERE x = 10"), 42);
    expect_ok(env, as_sqlite_migrate(env, &s, good, 3)); /* again: nothing to do */
    expect_eq(number_in(s.db, "SELECT count(*) FROM a"), 2);
    sqlite3_close(s.db);
}
#endif

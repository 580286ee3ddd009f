/* test_store.h - what the tests of a store share: a trial, a run, a store in the test's directory. */
#ifndef AS_STORE_TEST_STORE_H
#define AS_STORE_TEST_STORE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "store/kind.h"
#include "tests/runner/test.h"

static inline assay_env *store_env(void)
{
    static assay_env env;
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 1000);
    return &env;
}

/* Two candidates in n_rounds rounds over two launches, the second a tenth slower; three samples per block, or none. */
static inline assay_trace *store_trial(const char *name, uint32_t n_rounds, double ns, bool with_samples)
{
    assay_trace *t = NULL;
    if (as_trace_new_arms(NULL, name, 2, &t) != ASSAY_OK || !as_trace_reserve_turns(t, 2 * n_rounds, 6 * n_rounds))
        abort();
    t->arms[0].name = "threads=1";
    t->arms[1].name = "threads=2";
    t->arms[1].hash = UINT64_MAX;
    t->arms[1].ledger = (as_ledger){1e9, 2.5, 0, 3, NAN};
    for (uint32_t i = 0; i < 2 * n_rounds; i++) {
        double   at = ns * (i % 2 ? 1.1 : 1.0) * (1.0 + 0.01 * (i / 2 % 3) + 0.001 * (i % 5));
        as_turn *turn = &t->turns[t->n_turns++];
        *turn = (as_turn){.launch = i / 2 < n_rounds / 2 ? 0 : 1,
                          .round = i / 2,
                          .arm = i % 2,
                          .order = i % 2,
                          .first_shot = 3 * i,
                          .n_shots = 3,
                          .start_ns = 1e6 * i,
                          .wall_ns = at,
                          .cpu_ns = at,
                          .busy = 1.0,
                          .steal = NAN,
                          .fma_ns = NAN,
                          .copy_ns = 0.1};
        for (int k = 0; k < 3 && with_samples; k++)
            t->shots[t->n_shots++] = (as_shot){(float)at + (float)k / 3, k == 2 ? (float)NAN : (float)at};
    }
    t->n_launches = 2;
    t->n_rounds = n_rounds;
    t->calls = 7;
    t->seed = (uint64_t)1 << 63;
    t->start_unix_ns = UINT64_C(1234567890000000000);
    t->spent_ns = 0.1;
    memcpy(t->fingerprint, "0123456789abcdef", 17);
    if (!as_trace_add_note(t, "machine.cpu", "Zürich %d", 7))
        abort();
    return t;
}

static inline as_stored_run store_run(const char *title, int64_t unix_time)
{
    return (as_stored_run){.kind = "compare",
                           .title = title,
                           .fingerprint = "0123456789abcdef",
                           .commit = "abc",
                           .state = "complete",
                           .unix_time = unix_time,
                           .report = "{\"schema\":\"assay.run/1\"}"};
}

/* A run of two trials: matmul with samples, softmax without. */
static inline assay_status store_put(assay_env *env, as_store *s, const char *title, int64_t unix_time, int64_t *id)
{
    assay_trace  *trials[2] = {store_trial("matmul/64", 10, 1000.0 + (double)unix_time, true),
                               store_trial("softmax/8", 4, 50.0, false)};
    as_stored_run run = store_run(title, unix_time);
    assay_status  status = as_store_put_run(env, s, &run, (const assay_trace *const *)trials, 2, id);
    assay_trace_free(trials[0]);
    assay_trace_free(trials[1]);
    return status;
}

/* A run as schema 1 kept it: JSON and samples. */
static inline int64_t store_put_old(assay_env *env, as_store *s, const assay_trace *t)
{
    as_arena      arena = {0};
    as_trial_row  rows[1] = {{0}};
    as_run_row    row;
    as_stored_run run = store_run("old", 7);
    int64_t       id = 0;
    expect_ok(env, as_run_row_again(env, &arena, &run, &t, rows, 1, &row));
    expect(!row.trials[0].trace && row.trials[0].json);
    expect_ok(env, s->kind->put_runs(env, s->db, &row, 1, false, &id));
    as_arena_drop(&arena);
    return id;
}

static inline as_store *store_open(assay_env *env, const char *name)
{
    as_store *s = NULL;
    if (!as_st_table[0])
        skip("built without SQLite");
    expect_ok(env, as_store_open(env, as_test_path(name), true, &s));
    return s;
}

static inline size_t store_count(assay_env *env, as_store *s)
{
    as_arena       arena = {0};
    as_stored_run *runs;
    size_t         n = 0;
    expect_ok(env, as_store_list_runs(env, s, NULL, 0, &arena, &runs, &n));
    as_arena_drop(&arena);
    return n;
}

/* The whole file, NUL-terminated; the caller frees it. */
static inline char *store_bytes(const char *path, size_t *n)
{
    as_map map;
    expect_ok(NULL, as_map_open(NULL, "test", path, 0, &map));
    char *copy = malloc(map.bytes + 1);
    expect(copy);
    memcpy(copy, map.data, map.bytes);
    copy[map.bytes] = '\0';
    *n = map.bytes;
    as_map_close(&map);
    return copy;
}

#endif

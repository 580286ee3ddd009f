/* pool_test.c */
#include "base/pool.h"

#include <stdatomic.h>

#include "base/env.h"
#include "tests/runner/test.h"

static as_pool *pool_of(int n_threads)
{
    assay_env env = {0};
    as_pool  *pool = NULL;
    expect_ok(&env, as_pool_new(&env, n_threads, &pool));
    expect_eq(as_pool_threads(pool), n_threads);
    return pool;
}

typedef struct work {
    as_pool   *pool;
    int        calls[64];    /* by part; plain, since each part has its own */
    int        n_parts_seen; /* part 0 only */
    int64_t    values[64], next[64];
    atomic_int n_errors;
} work;

static void count_call(void *arg, int part, int n_parts)
{
    work *w = arg;
    w->calls[part]++;
    if (!part)
        w->n_parts_seen = n_parts;
}

Test(pool, runs_every_part_once_a_run)
{
    static const int sizes[] = {1, 2, 3, 8, 33};
    for (size_t s = 0; s < AS_COUNT(sizes); s++) {
        work w = {.pool = pool_of(sizes[s])};
        for (int i = 0; i < 200; i++)
            as_pool_run(w.pool, count_call, &w);
        as_pool_free(w.pool);
        expect_eq(w.n_parts_seen, sizes[s]);
        for (int i = 0; i < 64; i++)
            expect_eq(w.calls[i], i < sizes[s] ? 200 : 0);
    }
}

/* Each part reads its neighbour's value of the round before: a barrier that lets a part through early
 * gives a wrong value, and plain variables let TSan check it too. */
static void pass_on(void *arg, int part, int n_parts)
{
    work *w = arg;
    for (int round = 0; round < 100; round++) {
        w->next[part] = w->values[(part + 1) % n_parts] + 1;
        as_pool_barrier(w->pool, part);
        w->values[part] = w->next[part];
        as_pool_barrier(w->pool, part);
        if (w->values[(part + 1) % n_parts] != w->values[part])
            atomic_fetch_add(&w->n_errors, 1);
        as_pool_barrier(w->pool, part);
    }
}

Test(pool, barrier_makes_all_parts_meet)
{
    static const int sizes[] = {1, 2, 3, 7}; /* including more than this machine has CPUs */
    for (size_t s = 0; s < AS_COUNT(sizes); s++) {
        work w = {.pool = pool_of(sizes[s])};
        for (int i = 0; i < 5; i++)
            as_pool_run(w.pool, pass_on, &w);
        as_pool_free(w.pool);
        expect_eq(atomic_load(&w.n_errors), 0);
        for (int i = 0; i < sizes[s]; i++)
            expect_eq(w.values[i], 500);
    }
}

static void add_shared(void *arg, int part, int n_parts)
{
    work *w = arg;
    (void)n_parts;
    w->values[part] += w->next[0]; /* written by the caller between the runs */
}

Test(pool, what_the_caller_wrote_is_seen_and_what_was_done_is_seen_by_it)
{
    work w = {.pool = pool_of(4)};
    for (int i = 0; i < 300; i++) {
        w.next[0] = i;
        as_pool_run(w.pool, add_shared, &w);
        for (int p = 1; p < 4; p++)
            if (w.values[p] != w.values[0])
                atomic_fetch_add(&w.n_errors, 1);
    }
    as_pool_free(w.pool);
    expect_eq(atomic_load(&w.n_errors), 0);
    expect_eq(w.values[3], 299 * 300 / 2);
}

static void wait_long(void *arg, int part, int n_parts)
{
    work *w = arg;
    (void)n_parts;
    if (!part)
        for (uint64_t start = as_monotonic_ns(); as_monotonic_ns() < start + 3000000;) {
        }
    as_pool_barrier(w->pool, part);
    w->calls[part]++;
}

Test(pool, parked_workers_wake_up_again)
{
    work w = {.pool = pool_of(3)};
    for (int i = 0; i < 5; i++) {
        for (uint64_t start = as_monotonic_ns(); as_monotonic_ns() < start + 3000000;) {
        } /* long enough for the workers to park at the start gate, and then at the barrier */
        as_pool_run(w.pool, wait_long, &w);
    }
    as_pool_free(w.pool);
    expect_eq(w.calls[0] + w.calls[1] + w.calls[2], 15);
}

Test(pool, running_allocates_nothing)
{
    work w = {.pool = pool_of(3)};
    as_pool_run(w.pool, pass_on, &w);
    size_t before = as_test_n_allocs();
    for (int i = 0; i < 20; i++)
        as_pool_run(w.pool, pass_on, &w);
    size_t after = as_test_n_allocs();
    as_pool_free(w.pool);
    if (before == SIZE_MAX)
        skip("this linker cannot count allocations");
    expect_eq(after - before, 0);
}

Test(pool, that_never_ran_can_be_freed)
{
    as_pool_free(pool_of(5));
    as_pool_free(pool_of(1));
    as_pool_free(NULL);
}

Test(pool, refuses_impossible_sizes)
{
    assay_env env = {0};
    as_pool  *pool = NULL;
    expect_fails(&env, as_pool_new(&env, 0, &pool), ASSAY_BAD_INPUT, "0 threads requested; 1 to 1024");
    expect_fails(&env, as_pool_new(&env, -1, &pool), ASSAY_BAD_INPUT, "-1 threads");
    expect_fails(&env, as_pool_new(&env, 1025, &pool), ASSAY_BAD_INPUT, "1025 threads");
    expect(!pool);
}

Test(pool, shares_everything_once_and_in_whole_grains)
{
    static const int64_t cases[][2] = {{0, 1}, {1, 1}, {7, 1}, {100, 8}, {64, 64}, {65, 64}, {1000003, 16}};
    for (size_t c = 0; c < AS_COUNT(cases); c++) {
        for (int n_parts = 1; n_parts <= 9; n_parts++) {
            int64_t next = 0, least = INT64_MAX, most = 0;
            for (int part = 0; part < n_parts; part++) {
                int64_t begin, end;
                as_share(cases[c][0], cases[c][1], part, n_parts, &begin, &end);
                expect_eq(begin, next);
                expect(end >= begin);
                expect(begin % cases[c][1] == 0 || begin == cases[c][0]);
                next = end;
                least = end - begin < least ? end - begin : least;
                most = end - begin > most ? end - begin : most;
            }
            expect_eq(next, cases[c][0]);
            expect(most - least < 2 * cases[c][1]);
        }
    }
}

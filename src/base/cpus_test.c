/* cpus_test.c */
#include "base/cpus.h"

#include "base/env.h"
#include "base/pool.h"
#include "tests/runner/test.h"

Test(cpus, pins_the_calling_thread_and_lets_it_go_again)
{
    as_pin pin, again;
    char   why[128] = "";
    int    n = as_cpu_count();
    expect(n >= 1);
    if (!as_pin_self(&pin, n - 1, why, sizeof why)) {
        expect(why[0]);
        skip("%s", why);
    }
    expect_eq(as_cpu_count(), 1);
    expect(!as_pin_self(&again, 1, why, sizeof why));
    expect_has(why, "CPU number 1 is not among the 1");
    as_pin_undo(&again); /* was not done: changes nothing */
    expect_eq(as_cpu_count(), 1);
    as_pin_undo(&pin);
    expect_eq(as_cpu_count(), n);
    expect(!as_pin_self(&pin, 1 << 20, why, sizeof why));
    expect(!as_pin_self(&pin, -1, why, sizeof why));
    expect_eq(as_cpu_count(), n);
}

Test(cpus, every_other_cpu_goes_to_one_worker)
{
    for (int n_threads = 2; n_threads <= 9; n_threads++) {
        for (int i = 0; i < 40; i++) {
            int n_owners = 0;
            for (int part = 1; part < n_threads; part++)
                n_owners += as_place_has(i, part, n_threads);
            expect_eq(n_owners, 1);
        }
        for (int part = 1; part < n_threads; part++)
            expect(as_place_has(part - 1, part, n_threads)); /* as many CPUs as threads: each has one */
    }
}

Test(cpus, more_threads_than_cpus_are_not_placed)
{
    as_places p;
    as_places_init(&p);
    expect(!as_places_look(&p, as_cpu_count() + 1));
    expect(!p.on);
}

#if defined(__linux__)

#include <sched.h>

Test(cpus, a_worker_is_moved_off_the_cpu_of_its_caller)
{
    as_places p;
    as_pin    pin;
    char      why[128];
    as_places_init(&p);
    expect(as_places_stale(&p)); /* nobody has looked */
    if (!as_places_look(&p, 2))
        skip("one CPU only");
    int home = p.home;
    if (!as_pin_self(&pin, 0, why, sizeof why)) /* saves what this thread may use, to restore it */
        skip("%s", why);
    as_places_move(&p, pthread_self(), 1, 2); /* as if this were the worker */
    bool moved = as_places_stale(&p) && sched_getcpu() != home;
    int  n_left = as_cpu_count();
    as_pin_undo(&pin);
    expect(moved);
    expect_eq(n_left, as_cpu_count() - 1);
}

Test(cpus, a_worker_that_pinned_itself_is_left_alone)
{
    as_places p;
    as_pin    pin;
    char      why[128];
    as_places_init(&p);
    as_places_join(&p); /* as if this were the worker */
    bool pinned = as_pin_self(&pin, 0, why, sizeof why), looked = as_places_look(&p, 1);
    int  home = p.home;
    as_pin_undo(&pin);
    bool looked_again = as_places_look(&p, 1);
    as_places_join(NULL);
    if (!pinned)
        skip("%s", why);
    expect(!looked);
    expect_eq(home, -1);
    expect(looked_again);
    expect(p.home >= 0);
}

enum { MOST = 64 };

typedef struct view {
    as_pool  *pool;
    cpu_set_t set[MOST];                     /* by part: what the system reports */
    int       n_allowed[MOST], n_held[MOST]; /* ours */
} view;

static void look_around(void *arg, int part, int n_parts)
{
    view *v = arg;
    (void)n_parts;
    sched_getaffinity(0, sizeof v->set[part], &v->set[part]);
    v->n_allowed[part] = as_cpu_count();
}

static bool disjoint(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;
    CPU_AND(&both, a, b);
    return !CPU_COUNT(&both);
}

Test(cpus, workers_share_what_the_caller_may_use_but_its_own_cpu)
{
    static view v;
    assay_env   env = {0};
    cpu_set_t   all;
    int         n = as_cpu_count() < MOST ? as_cpu_count() : MOST;
    if (n < 2)
        skip("one CPU only");
    expect_ok(&env, as_pool_new(&env, n, &v.pool));
    as_pool_run(v.pool, look_around, &v);
    as_pool_free(v.pool);
    CPU_ZERO(&all);
    for (int i = 1; i < n; i++) {
        expect(CPU_COUNT(&v.set[i]) >= 1);
        expect(disjoint(&v.set[i], &all));
        CPU_OR(&all, &all, &v.set[i]);
        expect_eq(v.n_allowed[i], v.n_allowed[0]); /* a worker may pin itself to all of them */
    }
    expect_eq(CPU_COUNT(&all), v.n_allowed[0] - 1);
    expect_eq(CPU_COUNT(&v.set[0]), v.n_allowed[0]); /* the caller may run anywhere */
}

static void pin_and_let_go(void *arg, int part, int n_parts)
{
    view     *v = arg;
    as_pin    pin;
    cpu_set_t one;
    char      why[128];
    as_pin_self(&pin, n_parts - 1 - part, why, sizeof why); /* for one of the two this is not the CPU it was given */
    sched_getaffinity(0, sizeof one, &one);
    v->n_held[part] = CPU_COUNT(&one);
    as_pool_barrier(v->pool, part);
    as_pin_undo(&pin);
    sched_getaffinity(0, sizeof v->set[part], &v->set[part]);
}

Test(cpus, a_placed_worker_can_be_pinned_and_gets_its_place_back)
{
    static view v;
    assay_env   env = {0};
    int         n = as_cpu_count();
    if (n < 2)
        skip("one CPU only");
    expect_ok(&env, as_pool_new(&env, 2, &v.pool));
    as_pool_run(v.pool, pin_and_let_go, &v);
    as_pool_free(v.pool);
    expect_eq(v.n_held[0], 1);
    expect_eq(v.n_held[1], 1);
    expect_eq(CPU_COUNT(&v.set[0]), n);
    expect_eq(CPU_COUNT(&v.set[1]), n - 1);
}

#endif

/* pool.c - a persistent thread pool.
 *
 * All waiting goes through a gate: a number that only grows.  A thread watches it for a while and then sleeps on
 * it.  Where every thread has a CPU it watches by spinning, which keeps a fork below a microsecond.  It does not
 * yield: on a busy machine a thread that yields loses its CPU for milliseconds (tried: 5 us of spinning and then
 * yielding up to 100 us took a network from 85 us to 240 us).  With more threads than CPUs it watches only by
 * yielding: a worker that spins would take the CPU from the very thread that it waits for. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/env.h"

enum { MAX_THREADS = 1024, LINE_BYTES = 128, SPIN_NS = 100000, YIELD_NS = 20000, LATE_NS = 20000, SPINS_PER_LOOK = 32 };

typedef struct gate {
    alignas(LINE_BYTES) atomic_uint number;
    atomic_int      n_parked;
    pthread_mutex_t mutex;
    pthread_cond_t  moved;
} gate;

typedef struct worker {
    as_pool  *pool;
    pthread_t thread;
    int       part;
} worker;

struct as_pool {
    int        n_threads;
    int        n_started; /* workers */
    bool       may_spin;  /* there is a CPU for each thread */
    as_pool_fn fn;        /* the start gate publishes fn, arg and stop */
    void      *arg;
    bool       stop;
    worker    *workers;
    as_places  places;
    gate       start, done, meet;
    alignas(LINE_BYTES) atomic_int n_left;                /* workers that have not finished this run */
    alignas(LINE_BYTES) atomic_int n_met;                 /* parts that wait at the barrier */
    alignas(LINE_BYTES) atomic_ullong n_barriers, n_late; /* over all runs: barriers met, and waits of LATE_NS or more at them */
#ifdef AS_PLANT_RACE
    int n_finished; /* see part_finished() */
#endif
};

/* --- Gates -------------------------------------------------------------------------------- */

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void gate_init(gate *g)
{
    atomic_init(&g->number, 0);
    atomic_init(&g->n_parked, 0);
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->moved, NULL);
}

static void gate_destroy(gate *g)
{
    pthread_mutex_destroy(&g->mutex);
    pthread_cond_destroy(&g->moved);
}

static bool gate_is_past(gate *g, unsigned seen) { return atomic_load_explicit(&g->number, memory_order_acquire) != seen; }

/* Lets everyone through who waits for the number to change.  Either this thread sees a parked one, or
 * that one sees the new number before it sleeps: both store first and load second, sequentially
 * consistent. */
static void gate_advance(gate *g)
{
    atomic_fetch_add(&g->number, 1);
    if (!atomic_load(&g->n_parked))
        return;
    pthread_mutex_lock(&g->mutex);
    pthread_cond_broadcast(&g->moved);
    pthread_mutex_unlock(&g->mutex);
}

static void gate_park(gate *g, unsigned seen)
{
    pthread_mutex_lock(&g->mutex);
    atomic_fetch_add(&g->n_parked, 1);
    while (atomic_load(&g->number) == seen)
        pthread_cond_wait(&g->moved, &g->mutex);
    atomic_fetch_sub(&g->n_parked, 1);
    pthread_mutex_unlock(&g->mutex);
}

/* True when it took LATE_NS or more. */
static bool gate_wait(gate *g, unsigned seen, bool may_spin)
{
    if (gate_is_past(g, seen))
        return false;
    uint64_t start_ns = as_monotonic_ns(), patience_ns = may_spin ? SPIN_NS : YIELD_NS;
    for (uint64_t waited_ns = 0; waited_ns < patience_ns; waited_ns = as_monotonic_ns() - start_ns) {
        if (!may_spin)
            sched_yield();
        for (int i = may_spin ? SPINS_PER_LOOK : 1; i; i--) {
            if (gate_is_past(g, seen))
                return waited_ns >= LATE_NS;
            relax();
        }
    }
    gate_park(g, seen);
    return true;
}

/* --- Workers ------------------------------------------------------------------------------ */

/* A planted fault: CI builds with it and demands that ThreadSanitizer makes the tests fail.
 * Nothing reads the counter, so nothing else changes. */
static void part_finished(as_pool *pool)
{
#ifdef AS_PLANT_RACE
    pool->n_finished++;
#else
    (void)pool;
#endif
}

static void *worker_main(void *arg)
{
    worker  *me = arg;
    as_pool *pool = me->pool;
    as_places_join(&pool->places);
    for (unsigned seen = 0;; seen++) {
        gate_wait(&pool->start, seen, pool->may_spin);
        if (pool->stop)
            return NULL;
        pool->fn(pool->arg, me->part, pool->n_threads);
        part_finished(pool);
        if (atomic_fetch_sub_explicit(&pool->n_left, 1, memory_order_acq_rel) == 1)
            gate_advance(&pool->done);
    }
}

/* Starts the workers; returns an error number if one could not start.  They get no signals: Ctrl-C
 * belongs to the program's own thread. */
static int workers_start(as_pool *pool)
{
    sigset_t all, before;
    int      error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i + 1 < pool->n_threads && !error; i++) {
        worker *w = &pool->workers[i];
        *w = (worker){.pool = pool, .part = i + 1};
        error = pthread_create(&w->thread, NULL, worker_main, w);
        pool->n_started += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* --- The pool ----------------------------------------------------------------------------- */

assay_status as_pool_new(assay_env *env, int n_threads, as_pool **out)
{
    if (n_threads < 1 || n_threads > MAX_THREADS)
        return as_fail(env, ASSAY_BAD_INPUT, "pool: %d threads requested; 1 to %d are possible", n_threads, MAX_THREADS);
    void   *memory = NULL;
    worker *workers = calloc((size_t)n_threads, sizeof *workers);
    if (!workers || posix_memalign(&memory, LINE_BYTES, sizeof(as_pool))) {
        free(workers);
        return as_fail(env, ASSAY_NO_MEMORY, "pool: not enough memory for %d threads", n_threads);
    }
    as_pool *pool = memory;
    memset(pool, 0, sizeof *pool);
    pool->n_threads = n_threads;
    pool->may_spin = n_threads <= as_cpu_count();
    pool->workers = workers;
    as_places_init(&pool->places);
    atomic_init(&pool->n_left, 0);
    atomic_init(&pool->n_met, 0);
    gate_init(&pool->start);
    gate_init(&pool->done);
    gate_init(&pool->meet);
    int error = workers_start(pool);
    if (error) {
        int which = pool->n_started + 2;
        as_pool_free(pool);
        return as_fail(env, ASSAY_DEVICE, "pool: cannot start thread %d of %d: %s", which, n_threads, strerror(error));
    }
    *out = pool;
    return ASSAY_OK;
}

void as_pool_free(as_pool *pool)
{
    if (!pool)
        return;
    pool->stop = true;
    gate_advance(&pool->start);
    for (int i = 0; i < pool->n_started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    gate_destroy(&pool->start);
    gate_destroy(&pool->done);
    gate_destroy(&pool->meet);
    free(pool->workers);
    free(pool);
}

int as_pool_threads(const as_pool *pool) { return pool->n_threads; }

as_pool_waits as_pool_waits_read(as_pool *pool)
{
    return (as_pool_waits){.n_barriers = atomic_load_explicit(&pool->n_barriers, memory_order_relaxed),
                           .n_late = atomic_load_explicit(&pool->n_late, memory_order_relaxed)};
}

/* Only while the workers wait: moving one that sleeps costs one system call. */
static void workers_place(as_pool *pool)
{
    if (as_places_look(&pool->places, pool->n_threads))
        for (int i = 0; i < pool->n_started; i++)
            as_places_move(&pool->places, pool->workers[i].thread, pool->workers[i].part, pool->n_threads);
}

void as_pool_run(as_pool *pool, as_pool_fn fn, void *arg)
{
    if (pool->n_threads == 1) {
        fn(arg, 0, 1);
        return;
    }
    if (as_places_stale(&pool->places))
        workers_place(pool);
    unsigned done = atomic_load_explicit(&pool->done.number, memory_order_relaxed);
    pool->fn = fn;
    pool->arg = arg;
    atomic_store_explicit(&pool->n_left, pool->n_threads - 1, memory_order_relaxed);
    gate_advance(&pool->start);
    fn(arg, 0, pool->n_threads);
    part_finished(pool);
    gate_wait(&pool->done, done, pool->may_spin);
}

/* The gate's number is the sense of the barrier: it cannot change before this part has arrived,
 * so the value read before arriving is the one to wait on, and the next barrier has another. */
void as_pool_barrier(as_pool *pool, int part)
{
    (void)part;
    if (pool->n_threads == 1)
        return;
    unsigned seen = atomic_load_explicit(&pool->meet.number, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->n_met, 1, memory_order_acq_rel) + 1 < pool->n_threads) {
        if (gate_wait(&pool->meet, seen, pool->may_spin))
            atomic_fetch_add_explicit(&pool->n_late, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&pool->n_barriers, 1, memory_order_relaxed);
    atomic_store_explicit(&pool->n_met, 0, memory_order_relaxed); /* before anyone can arrive again */
    gate_advance(&pool->meet);
}

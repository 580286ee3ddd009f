/* pool.h - a persistent thread pool for SPMD segments.
 *
 * as_pool_run() runs fn(arg, part, n_parts) once in every thread, the caller being part 0, and
 * returns when all are done.  Inside, as_pool_barrier() makes all parts meet.  Workers and barriers
 * spin for a bounded time, then park; workers are kept off the caller's CPU.  A pool of one thread runs in
 * the caller without any atomics.  as_pool_run() is not reentrant and is called by one thread at a time. */
#ifndef AS_BASE_POOL_H
#define AS_BASE_POOL_H

#include "assay.h"
#include "base/cpus.h"

typedef struct as_pool as_pool;
typedef void (*as_pool_fn)(void *arg, int part, int n_parts);

/* n_threads >= 1 in all, including the caller. */
assay_status as_pool_new(assay_env *env, int n_threads, as_pool **out);
void         as_pool_free(as_pool *pool);
int          as_pool_threads(const as_pool *pool);
void         as_pool_run(as_pool *pool, as_pool_fn fn, void *arg);
void         as_pool_barrier(as_pool *pool, int part);

/* Since the pool was made: barriers met, and waits of 20 us or more at them, because a part had much more work or lost its
 * CPU. */
typedef struct as_pool_waits {
    uint64_t n_barriers, n_late;
} as_pool_waits;
as_pool_waits as_pool_waits_read(as_pool *pool);

/* The items [*begin, *end) out of `n` for a part, in units of `grain`, as evenly as possible. */
static inline void as_share(int64_t n, int64_t grain, int part, int n_parts, int64_t *begin, int64_t *end)
{
    int64_t units = (n + grain - 1) / grain;
    int64_t b = units * part / n_parts * grain, e = units * (part + 1) / n_parts * grain;
    *begin = b < n ? b : n;
    *end = e < n ? e : n;
}

#endif

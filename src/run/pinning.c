/* pinning.c - pins each measuring thread to a CPU of its own, and releases them afterwards. */
#include <stdatomic.h>
#include <string.h>

#include "run/run.h"

typedef struct pin_job {
    as_pinning *p;
    atomic_int  n_pinned, n_refused;
} pin_job;

static void pin_part(void *arg, int part, int n_parts)
{
    pin_job *j = arg;
    char     why[sizeof j->p->why] = "";
    (void)n_parts;
    if (as_pin_self(&j->p->pins[part], part, why, sizeof why))
        atomic_fetch_add(&j->n_pinned, 1);
    else if (!atomic_fetch_add(&j->n_refused, 1)) /* only the first writes the reason */
        memcpy(j->p->why, why, sizeof why);
}

static void undo_part(void *arg, int part, int n_parts)
{
    as_pinning *p = arg;
    (void)n_parts;
    as_pin_undo(&p->pins[part]);
}

static void each_thread(as_pinning *p, as_pool_fn fn, void *arg)
{
    if (p->device->backend->each_thread)
        p->device->backend->each_thread(p->device, fn, arg);
    else
        fn(arg, 0, 1);
}

void as_pinning_do(as_pinning *p, as_device *device, as_arena *arena)
{
    *p = (as_pinning){.device = device, .n_threads = device->n_threads};
    p->pins = AS_TAKE(arena, as_pin, p->n_threads);
    if (!p->pins)
        return;
    pin_job j = {.p = p};
    each_thread(p, pin_part, &j);
    p->n_pinned = atomic_load(&j.n_pinned);
}

void as_pinning_undo(as_pinning *p)
{
    if (p->pins)
        each_thread(p, undo_part, p);
    p->pins = NULL;
}

/* threads.c - running, waiting, queueing: exact times from the moments at which threads get and lose a CPU. */
#include "record/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void as_threads_drop(as_threads *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->items[i]);
    free(all->items);
    free(all->slots);
    *all = (as_threads){0};
}

static uint32_t *slot_of(const as_threads *all, pid_t tid)
{
    size_t at = ((uint32_t)tid * 2654435761u) & (all->n_slots - 1);
    while (all->slots[at] && all->items[all->slots[at] - 1]->tid != tid)
        at = (at + 1) & (all->n_slots - 1);
    return &all->slots[at];
}

as_thread *as_threads_find(as_threads *all, pid_t tid)
{
    uint32_t index = all->n_slots ? *slot_of(all, tid) : 0;
    return index ? all->items[index - 1] : NULL;
}

static bool grow(as_threads *all)
{
    if (all->n < all->cap)
        return true;
    size_t      cap = all->cap ? 2 * all->cap : 64;
    as_thread **items = realloc(all->items, cap * sizeof *items);
    if (items)
        all->items = items;
    uint32_t *slots = items ? calloc(2 * cap, sizeof *slots) : NULL;
    if (!slots)
        return false;
    free(all->slots);
    all->cap = cap;
    all->slots = slots;
    all->n_slots = 2 * cap;
    for (size_t i = 0; i < all->n; i++)
        *slot_of(all, all->items[i]->tid) = (uint32_t)i + 1;
    return true;
}

/* Time up to now goes to what the threads did in it.  Threads that have ended, and none at all, are no program. */
static void account(as_threads *all, uint64_t now_ns)
{
    uint64_t ns = all->at_ns && now_ns > all->at_ns ? now_ns - all->at_ns : 0;
    if (all->n_doing[AS_THREAD_RUNS])
        all->busy_ns += ns;
    else if (all->n_doing[AS_THREAD_QUEUES])
        all->starved_ns += ns;
    else if (all->n_doing[AS_THREAD_WAITS])
        all->asleep_ns += ns;
    all->at_ns = now_ns > all->at_ns ? now_ns : all->at_ns;
}

as_thread *as_threads_take(as_threads *all, pid_t pid, pid_t tid, uint64_t now_ns)
{
    as_thread *t = as_threads_find(all, tid);
    if (t && t->now == AS_THREAD_ENDED && t->pid != pid) { /* the number of a thread that has ended is used again */
        t->pid = pid;
        t->lane = t->seen = t->out = -1;
    }
    if (t || !grow(all))
        return t;
    t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (as_thread){
        .pid = pid, .tid = tid, .now = AS_THREAD_RUNS, .since_ns = now_ns, .seen = -1, .out = -1, .waiting = -1, .lane = -1};
    all->items[all->n++] = t;
    *slot_of(all, tid) = (uint32_t)all->n;
    account(all, now_ns);
    all->n_doing[AS_THREAD_RUNS]++;
    return t;
}

int as_thread_lane(as_recording *r, as_thread *t)
{
    if (t->lane < 0)
        t->lane = as_record_lane(r, t->pid, t->tid, *t->name ? t->name : NULL);
    return t->lane;
}

/* One look for all waiting at one stack since the last flush: a thread that waits a thousand times in a second is not a thousand looks. */
static bool waiting_write(as_recording *r, as_thread *t, uint64_t now_ns)
{
    int lane = as_thread_lane(r, t), stack = t->waiting;
    if (!t->waiting_ns)
        return true;
    if (stack < 0)
        stack = as_symbols_stack(r->symbols, r->trace, t->pid, NULL, 0, true, NULL);
    uint64_t start = r->trace->start_ticks;
    bool     ok = lane >= 0 && stack >= 0 &&
              as_trace_add_look(r->trace, &(as_stack_sample){.ticks = now_ns > start ? now_ns - start : 0,
                                                             .weight_ns = t->waiting_ns,
                                                             .stack = (uint32_t)stack,
                                                             .lane = (uint16_t)lane,
                                                             .state = AS_STACK_OFF_CPU});
    t->waiting_ns = 0;
    return ok;
}

static bool waited(as_recording *r, as_threads *all, as_thread *t, uint64_t now_ns)
{
    int      stack = t->out >= 0 ? t->out : t->seen;
    uint64_t ns = now_ns > t->since_ns ? now_ns - t->since_ns : 0;
    bool     ok = t->waiting == stack || waiting_write(r, t, t->since_ns);
    t->waiting = stack;
    t->waiting_ns += ns;
    all->waited_ns += ns;
    return ok;
}

bool as_thread_turn(as_recording *r, as_threads *all, as_thread *t, as_thread_now what, uint64_t now_ns)
{
    bool ok = true;
    if (t->now == what)
        return true; /* a moment that was lost */
    account(all, now_ns);
    all->n_doing[t->now]--;
    all->n_doing[what]++;
    if (t->now == AS_THREAD_WAITS)
        ok = waited(r, all, t, now_ns);
    else if (t->now == AS_THREAD_QUEUES)
        all->queued_ns += now_ns > t->since_ns ? now_ns - t->since_ns : 0;
    t->out = what == AS_THREAD_RUNS ? -1 : t->out;
    t->now = what;
    t->since_ns = now_ns;
    return ok;
}

bool as_threads_flush(as_recording *r, as_threads *all, uint64_t now_ns, bool at_end)
{
    bool ok = true;
    for (size_t i = 0; i < all->n && ok; i++) {
        as_thread *t = all->items[i];
        if (at_end && t->now != AS_THREAD_ENDED)
            ok = as_thread_turn(r, all, t, AS_THREAD_ENDED, now_ns);
        ok = ok && waiting_write(r, t, now_ns);
    }
    return ok;
}

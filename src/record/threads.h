/* threads.h - the threads of a recording: what they do now, since when, and where they were seen last. */
#ifndef AS_RECORD_THREADS_H
#define AS_RECORD_THREADS_H

#include "record/record.h"

typedef enum as_thread_now {
    AS_THREAD_RUNS,
    AS_THREAD_WAITS,
    AS_THREAD_QUEUES /* could run, but has no CPU */,
    AS_THREAD_ENDED
} as_thread_now;

typedef struct as_thread {
    pid_t         pid, tid;
    char          name[16];
    as_thread_now now;
    uint64_t      since_ns;
    int           seen;    /* stack of the last look; -1: none yet */
    int           out;     /* stack when it last stopped running, where that was seen; -1: it was not */
    int           waiting; /* stack of the waiting that is not in the trace yet */
    uint64_t      waiting_ns;
    int           lane; /* -1: it has none yet */
} as_thread;

/* {0} is empty. */
typedef struct as_threads {
    as_thread **items; /* in the order of their beginning */
    size_t      n, cap;
    uint32_t   *slots; /* index + 1 by hash of the tid; 0: free */
    size_t      n_slots;
    size_t      n_doing[AS_THREAD_ENDED + 1];
    uint64_t    at_ns;                          /* up to when the next three are counted; 0: not yet begun */
    uint64_t    busy_ns, starved_ns, asleep_ns; /* at least one ran; none ran, but one could have; all waited */
    uint64_t    queued_ns, waited_ns;           /* of all threads together */
} as_threads;

void       as_threads_drop(as_threads *all);
as_thread *as_threads_find(as_threads *all, pid_t tid); /* NULL: not there */
/* The thread, made when it is first asked for: it then runs since `now_ns`.  NULL: no memory. */
as_thread *as_threads_take(as_threads *all, pid_t pid, pid_t tid, uint64_t now_ns);
/* It does something else from now on.  Time that it waited becomes a look off the CPU, with others of the same stack.  False: no memory. */
bool as_thread_turn(as_recording *r, as_threads *all, as_thread *t, as_thread_now what, uint64_t now_ns);
/* Waiting that was not written yet becomes looks; with `at_end` also what is going on. */
bool as_threads_flush(as_recording *r, as_threads *all, uint64_t now_ns, bool at_end);
int  as_thread_lane(as_recording *r, as_thread *t);

#endif

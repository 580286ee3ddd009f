/* heap.h - what recorded processes allocated, per process and per place in their code.  Private to analysis/.
 *
 * From the exact counts of the recorder (as_memory_site and the metrics AS_PROCESS_...), so that the numbers hold however many events were
 * left out.  Everything lives in the arena that is given. */
#ifndef AS_ANALYSIS_HEAP_HEAP_H
#define AS_ANALYSIS_HEAP_HEAP_H

#include "base/arena.h"
#include "trace/trace.h"

/* The stacks of one process that allocate in one place: a function and its line. */
typedef struct as_heap_place {
    int            frame; /* -1: not known */
    as_memory_site sum;   /* over its stacks; its stack is the one that asked for most bytes */
    uint64_t       most;  /* bytes that this one asked for */
    size_t         n_stacks;
} as_heap_place;

/* A stack whose memory grew to the end. */
typedef struct as_heap_leak {
    as_memory_site last;
    int            frame;
    double         slope;      /* bytes per second, over the last three quarters */
    double         confidence; /* that it grows: by the signs of its steps */
} as_heap_leak;

enum { AS_HEAP_STEPS = 24 }; /* at which growth is judged */

typedef struct as_heap_process {
    int    lane; /* of its first thread */
    double peak, live, step_peak, allocs, resizes, frees, maps, mapped, blocks, bytes, failed, unknown, unseen,
        cost;                   /* NaN: not told */
    double          peak_ticks; /* NaN: it never fell again */
    bool            own_malloc, forked, full, ended;
    as_heap_place  *places; /* by bytes at the peak, the largest first */
    size_t          n_places;
    as_memory_site *sites; /* the last of each stack */
    size_t          n_sites;
    as_heap_leak   *leaks;            /* the steepest first */
    size_t          n_leaks, n_steps; /* steps that were looked at; fewer than AS_HEAP_STEPS: too few to tell */
} as_heap_process;

typedef struct as_heap {
    as_heap_process *processes; /* in the order in which they began */
    size_t           n;
    int              main; /* the one with the highest peak; -1: there is none */
} as_heap;

/* False: no memory.  n == 0: the trace is not one of allocations. */
bool as_heap_read(const assay_trace *t, as_arena *arena, as_heap *out);

/* The frame that a stack is named after: the innermost that is not an allocator's own wrapper, or where that has no
 * name, the next one with a name in the same program or library; -1: no stack. */
int as_heap_frame(const assay_trace *t, uint32_t stack);
/* Whether the process's events are all in the trace. */
bool as_heap_has_all_events(const assay_trace *t);

#endif

/* lane.h - what one thread of a session records: the tree of its call paths with exact totals, and a ring of spans.
 *
 * The thread is the only writer.  The collector reads the ring while the thread writes, and the tree when the session ends, so what both
 * touch is atomic; with one writer, a relaxed load and store cost what plain ones do.
 *
 * A lane is held by its session and by its thread, and the last of them frees it: a thread may outlive the session. */
#ifndef AS_SESSION_LANE_H
#define AS_SESSION_LANE_H

#include <stdatomic.h>

#include "base/clock.h"
#include "trace/trace.h"

enum { AS_LANE_DEPTH = 256, AS_LANE_MAX_NODES = 1 << 16 };

/* An operation with its context, made once per session: its site is the name of its spans. */
typedef struct as_op_site {
    assay_site         site;
    assay_operation    operation; /* texts are the session's copies */
    struct as_op_site *next;
} as_op_site;

/* A call path: a site, called from the path above it. */
typedef struct as_node {
    const assay_site         *site;
    const as_op_site         *op; /* NULL: a plain span */
    struct as_node           *parent;
    _Atomic(struct as_node *) first;
    struct as_node           *next;
    _Atomic uint64_t          count, sum_ticks, min_ticks, max_ticks, flops, bytes;
    int                       stack, frame; /* in the trace; -1: not yet.  The collector's. */
} as_node;

typedef struct as_lane_span {
    uint64_t begin_ticks, end_ticks;
    as_node *node;
} as_lane_span;

typedef struct as_lane {
    /* The thread's alone. */
    as_clock clock;
    int      depth;
    uint32_t too_deep; /* open spans beyond AS_LANE_DEPTH: they only count */
    struct {
        as_node *node;
        uint64_t begin_ticks;
    } open[AS_LANE_DEPTH + 1];
    as_node *nodes; /* where the next one comes from */
    uint32_t n_nodes, n_left;

    /* Shared. */
    as_lane_span    *ring;
    uint32_t         mask;
    _Atomic uint32_t head, tail; /* written by the thread, by the collector */
    _Atomic uint64_t n_lost;     /* spans that found the ring full; their totals are exact all the same */
    _Atomic uint64_t n_too_deep; /* spans that were nested too deep */
    atomic_bool      left;       /* its time has been taken */
    atomic_bool      closed;     /* the session has ended, or the thread has left it */
    atomic_int       refs;
    as_node          root;
    struct as_lane  *next; /* of the session */
    uint64_t         joined_ticks;
    double           queued_ns; /* how long the thread had waited for a CPU when it joined, then while it was in; NaN: not known */
    char             name[64];
    uint32_t         tid;
    int              index; /* in the trace; -1: not yet */
    struct as_lane_chunk {
        struct as_lane_chunk *next;
        as_node               nodes[64];
    } * chunks;
} as_lane;

/* NULL: no memory.  capacity is a power of two. */
as_lane *as_lane_new(const as_clock *clock, uint32_t capacity, const char *name);
/* The end of a thread's part, by itself (its open spans end) or, if it still runs, by the session.  Does nothing the second time. */
void as_lane_leave(as_lane *lane, bool by_itself);
void as_lane_drop(as_lane *lane); /* one holder less */

/* The spans of this thread; without a lane both do nothing. */
void as_lane_begin(as_lane *lane, const assay_site *site, const as_op_site *op);
/* Returns how many ticks the span took; 0: there was none open. */
uint64_t as_lane_end(as_lane *lane);
void     as_lane_work(as_lane *lane, uint64_t flops, uint64_t bytes);

/* The lane of the calling thread, NULL: none.  Setting it drops the one before. */
as_lane *as_lane_current(void);
void     as_lane_make_current(as_lane *lane);

#endif

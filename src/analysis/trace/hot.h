/* hot.h - where the time goes and how much of it is above the limit: hotspots, with what each one is limited by and the numbers that say so.
 * Private to analysis/trace: an_hotspots.c tells them, an_bottlenecks.c sums them up. */
#ifndef AS_ANALYSIS_HOT_H
#define AS_ANALYSIS_HOT_H

#include "analysis/trace/calltree.h"
#include "analysis/trace/evidence.h"
#include "trace/limit.h"

typedef enum as_hot_kind {
    AS_HOT_UNKNOWN, /* the evidence says why */
    AS_HOT_COMPUTE,
    AS_HOT_MEMORY,
    AS_HOT_IO,          /* files, sockets, transfers between devices */
    AS_HOT_SYNC,        /* waits for other threads */
    AS_HOT_DISPATCH,    /* its work takes less than getting to it */
    AS_HOT_INEFFICIENT, /* far from both limits: the code itself */
    AS_HOT_SLEEP,       /* waits for a clock */
    AS_HOT_NEIGHBOURS,  /* could run, but others had the CPU */
    AS_N_HOT_KINDS
} as_hot_kind;
const char *as_hot_text(as_hot_kind kind); /* "algorithmic inefficiency" */

typedef struct as_hot {
    const char  *name, *place;
    as_hot_kind  kind;
    double       total_ns, self_ns, share; /* share: of the whole, by self time */
    uint64_t     count;
    double       least_ns;     /* self time at the limit; NaN: not known */
    as_limit     limit;        /* of one call */
    double       of_limit;     /* NaN: not known */
    double       weight_share; /* of the bytes, weights; NaN: not known */
    assay_metric potential, memory;
    const char  *evidence;
    const char  *cites; /* the facts and rows that the evidence stands on: "books.unexplained layers.steps#3" */
    int          step;  /* of the plan; -1 */
} as_hot;

typedef struct as_hots {
    as_hot     *all; /* the greatest self time first */
    size_t      n;
    double      whole_ns;
    double      between_ns; /* layers: what it costs to get from one step to the next; NaN: not known */
    double      wait_share; /* layers: of the threads' time, waiting for one another; NaN: not recorded */
    bool        uncertain;  /* a limit that was used may be too low */
    const char *unknown;    /* why there are none; NULL: there are */
} as_hots;

/* Of the tree's functions that are code.  Layers need the facts of layers and books. */
as_hots as_hots_read(assay_facts *f, const assay_trace *t, const as_call_tree *tree);
/* The share of the whole whose kind is this. */
double as_hots_share(const as_hots *h, as_hot_kind kind);

#endif

/* limit.h - the one rule for limits: the least time that a step can take on its device, and what is above it.
 *
 * A step takes at least its operations at the rate of multiply-adds, its special functions at that of a vector exponential, and its bytes
 * at the bandwidth of where they can lie; the longest of the three is its limit.  Every table, bench row and refusal asks here, so that one
 * step has one share of its limit wherever it is told.
 *
 * The work is the lesser of what the operator is defined to do and what the kernel says that it issues: Winograd issues less, and padding
 * is waste, not a limit.  Bytes have a blended bandwidth: each level holds as much of the working set as it can, the fastest first, and what
 * is left lies in the next.  So a working set that is a little larger than a cache has a limit a little below that cache's, and one that
 * fits has the cache's own. */
#ifndef AS_TRACE_LIMIT_H
#define AS_TRACE_LIMIT_H

#include "trace/trace.h"

enum { AS_LIMIT_LEVELS = 6 };
#define AS_LIMIT_MARGIN 1.05 /* a result must be more than this above its limit to be called impossible */

/* --- What a device can do ------------------------------------------------------------------------------------------- */

typedef struct as_limit_rate {
    double               rate; /* a second; NaN: not measured */
    const as_trace_roof *roof; /* it stands on; the trace's */
} as_limit_rate;

typedef struct as_limit_level {
    char          name[AS_LEVEL_NAME]; /* "L1", "DRAM" */
    uint64_t      bytes;               /* what it holds; 0: everything */
    as_limit_rate bytes_per_s;         /* the best of reading, triad and streaming */
} as_limit_level;

/* The limits of one device, for so many threads. */
typedef struct as_limits {
    as_limit_rate  fma[2]; /* f32, f64 */
    as_limit_rate  special;
    as_limit_level level[AS_LIMIT_LEVELS]; /* the smallest first */
    int            n_levels;
} as_limits;

/* The last record of that device and name; NULL: none. */
const as_trace_roof *as_trace_roof_find(const assay_trace *t, const char *device, const char *name);
/* Of that device, for so many threads: where they were not measured, from fewer threads, in proportion.  A device without threads of its own
 * (its limits' names do not end in ".t2") has one set.  False: none was measured. */
bool as_limits_read(const assay_trace *t, const char *device, int n_threads, as_limits *out);

/* --- What a step must take --------------------------------------------------------------------------------------------- */

as_limit as_limit_of_step(const as_limits *m, const as_trace_step *s);
as_limit as_limit_sum(const as_limit *a, const as_limit *b); /* one after the other; NONE is nothing */
/* Of all steps of the body, one after the other; NONE where one of them has work and its device no limits. */
as_limit    as_limit_of_plan(const assay_trace *t, int n_threads);
const char *as_limit_unit(const as_limit *l); /* of its rate */
/* "compute", "special", "L2"; "-": none. */
const char *as_limit_bound(const as_limit *l);
/* The limits that a step of so short a time contradicts: at most `max` of them, how many. */
int as_limit_blame(const as_limits *m, const as_trace_step *s, double ns, const as_trace_roof **out, int max);

/* --- Where a result stands ----------------------------------------------------------------------------------------------- */

typedef enum as_standing {
    AS_STANDING_UNKNOWN, /* no time, or no limit */
    AS_STANDING_BELOW,
    AS_STANDING_AT,    /* not told from its limit: at most 5 % above it, at the slow end of its interval */
    AS_STANDING_DOUBT, /* above, but the limit may be too low, or was not measured again */
    AS_STANDING_ABOVE  /* above a limit that was measured again on the spot: an error of the instrument, refused */
} as_standing;

/* time_ns with slow_ns, the slow end of its interval (NaN: none).  share: of the limit, at most 1; NaN where it is unknown, doubted or refused. */
as_standing as_limit_judge(const as_limit *l, double time_ns, double slow_ns, double *share);
const char *as_standing_text(as_standing s); /* "below", "at its limit", "above an uncertain limit", "refused: above its limit" */

#endif

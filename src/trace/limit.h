/* limit.h - the one rule for limits: the least time that a step can take on its device, and what is above it.
 *
 * A step needs at least the time for its operations at the rate of multiply-adds, for its special functions at the rate of a
 * vector exponential, and for its bytes at the bandwidth of the memory levels that can hold them; the longest of the three is its
 * limit.  Every table, bench row and refusal uses this code, so that a step has the same share of its limit everywhere.
 *
 * The work is the smaller of the operator's definition and what the kernel states that it issues: Winograd issues less, and
 * padding is waste, not a limit.  Bytes have a blended bandwidth: each level holds as much of the working set as it can, the
 * fastest first, and the rest is in the next.  So a working set that is a little larger than a cache has a limit a little below
 * that cache's, and one that fits has the cache's own. */
#ifndef AS_TRACE_LIMIT_H
#define AS_TRACE_LIMIT_H

#include "trace/trace.h"

enum { AS_LIMIT_LEVELS = 6 };
#define AS_LIMIT_MARGIN 1.05 /* a result must be more than this above its limit to be called impossible */

/* --- What a device can do ------------------------------------------------------------------------------------------- */

typedef struct as_limit_rate {
    double               rate; /* per second; NaN: not measured */
    const as_trace_roof *roof; /* the record it comes from; belongs to the trace */
} as_limit_rate;

typedef struct as_limit_level {
    char          name[AS_LEVEL_NAME]; /* "L1", "DRAM" */
    uint64_t      bytes;               /* its size; 0: unlimited */
    as_limit_rate bytes_per_s;         /* the best of reading, triad and streaming */
} as_limit_level;

/* The limits of one device, for a number of threads. */
typedef struct as_limits {
    as_limit_rate  fma[3]; /* f32, f64, bytes */
    as_limit_rate  special;
    as_limit_level level[AS_LIMIT_LEVELS]; /* the smallest first */
    int            n_levels;
} as_limits;

/* The last record of that device and name; NULL: none. */
const as_trace_roof *as_trace_roof_find(const assay_trace *t, const char *device, const char *name);
/* The limits of that device for this many threads; if these were not measured, scaled up from fewer threads.  A device without
 * threads of its own (its limits' names do not end in ".t2") has one set.  False: none was measured. */
bool as_limits_read(const assay_trace *t, const char *device, int n_threads, as_limits *out);

/* --- What a step must take --------------------------------------------------------------------------------------------- */

as_limit as_limit_of_step(const as_limits *m, const as_trace_step *s);
as_limit as_limit_sum(const as_limit *a, const as_limit *b); /* of two steps one after the other; NONE counts as nothing */
/* The sum over all steps of the body; NONE if one of them has work but its device has no limits. */
as_limit    as_limit_of_plan(const assay_trace *t, int n_threads);
const char *as_limit_unit(const as_limit *l); /* of its rate */
/* "compute", "special", "L2"; "-": none. */
const char *as_limit_bound(const as_limit *l);
/* The limits that a step with this time contradicts, at most `max`; returns how many. */
int as_limit_blame(const as_limits *m, const as_trace_step *s, double ns, const as_trace_roof **out, int max);

/* --- Where a result stands ----------------------------------------------------------------------------------------------- */

typedef enum as_standing {
    AS_STANDING_UNKNOWN, /* no time, or no limit */
    AS_STANDING_BELOW,
    AS_STANDING_AT,    /* at its limit: at most 5 % above it, at the slow end of its interval */
    AS_STANDING_DOUBT, /* above, but the limit may be too low, or was not measured again */
    AS_STANDING_ABOVE  /* above a limit that was measured again on the spot: an error of the measurement, refused */
} as_standing;

/* time_ns with slow_ns, the slow end of its interval (NaN: none).  share: of the limit, at most 1; NaN where it is unknown, doubted or refused. */
as_standing as_limit_judge(const as_limit *l, double time_ns, double slow_ns, double *share);
const char *as_standing_text(as_standing s); /* "below", "at its limit", "above an uncertain limit", "refused: above its limit" */

#endif

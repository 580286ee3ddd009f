/* devices.h - the share of each device in a run, by where the plan's steps really ran.  Private to analysis/trace. */
#ifndef AS_ANALYSIS_DEVICES_H
#define AS_ANALYSIS_DEVICES_H

#include "analysis/trace/evidence.h"

enum { AS_MAX_DEVICES = 16 };

/* Covers the steps of the body that compute; the time accounted for lists transfers separately. */
typedef struct as_device_share {
    const char *name;
    size_t      n_steps, n_refused;            /* refused: steps that another device ran instead */
    const char *refused, *why;                 /* the first refused step and the reason; NULL: none */
    double      share_of_steps, share_of_time; /* NaN: not known */
} as_device_share;

typedef struct as_device_shares {
    as_device_share devices[AS_MAX_DEVICES]; /* by time, then by steps, the most first; those that only refused last */
    int             n;
    size_t          n_steps, n_runs; /* all steps; the uninterrupted runs that the times come from */
    const char     *no_time;         /* why there are no shares of time; NULL: there are */
} as_device_shares;

as_device_shares as_device_shares_read(assay_facts *f, const assay_trace *t);
/* "cpu", or with several devices "opencl:0 93 % of the time, 5 of 7 steps; cpu 7 %, 2 of 7 steps". */
const char *as_device_shares_say(assay_facts *f, const assay_trace *t, const as_device_shares *s);

#endif

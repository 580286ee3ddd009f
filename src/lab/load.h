/* load.h - work of a known amount, to test the laboratory itself: a slowdown is real extra work, not a factor applied to the
 * times.
 *
 * "compute": passes over a buffer that stays in L1.  "memory": a triad through arrays far larger than the caches.  "chase": a
 * walk by pointers through 1 MiB; chance decides, per process, which of its lines share a cache set.  extra 0.01 does one
 * hundredth more of the same work. */
#ifndef AS_LAB_LOAD_H
#define AS_LAB_LOAD_H

#include "run/sampler.h"

typedef struct as_load as_load; /* the buffers, which candidates share */

assay_status as_load_new(assay_env *env, const char *kind, as_load **out); /* BAD_INPUT: no such kind */
void         as_load_free(as_load *load);
/* A candidate that works on these buffers; the load must outlive it. */
assay_status as_load_arm(assay_env *env, as_load *load, const char *name, double extra, as_arm *out);
/* "compute", "memory:0.02": kind and extra. */
assay_status as_load_parse(assay_env *env, const char *spec, char *kind, size_t size, double *extra);

#endif

/* tally.h - durations counted in boxes: memory does not grow with their number, so a stream may last for days.
 *
 * A box is at most 1/2048 of its value wide; below 4096 ns it is exact.  Minimum, maximum and count are exact. */
#ifndef AS_RUN_TALLY_H
#define AS_RUN_TALLY_H

#include "assay.h"

enum { AS_TALLY_BITS = 11, AS_TALLY_BOXES = (64 - AS_TALLY_BITS + 1) << AS_TALLY_BITS };

typedef struct as_tally {
    uint64_t *boxes; /* AS_TALLY_BOXES */
    uint64_t  n, min_ns, max_ns;
} as_tally;

bool as_tally_open(as_tally *tally); /* false: no memory */
void as_tally_drop(as_tally *tally);
void as_tally_add(as_tally *tally, uint64_t ns);
/* The duration of a rank (0-based, ascending), in ns; NAN when there is none. */
double as_tally_rank(const as_tally *tally, uint64_t rank);
/* Quantile q with its exact binomial interval, or the reason why there are too few durations for it; `reason` must live as long
 * as the metric. */
assay_metric as_tally_quantile(const as_tally *tally, double q, const char *source, char *reason, size_t reason_size);

#endif

/* plausible.h - the lie detector: can these numbers be true?
 *
 * Pure functions on numbers.  A benchmark that measures nothing (work that was never forced, inputs that nobody reads, a clock
 * around an empty call) looks like a very fast one; each test here catches one symptom of that.  A case that fails is refused
 * with a message, never corrected. */
#ifndef AS_ANALYSIS_PLAUSIBLE_H
#define AS_ANALYSIS_PLAUSIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/limit.h"

enum { AS_SENTENCE_BYTES = 240 };

typedef struct as_claim {                /* what one case claims */
    const char *name, *family;           /* cases of a family differ in size only */
    double      median_ns, lo_ns, hi_ns; /* of a call; NaN: was not measured, and is not judged */
    double      flops, bytes;            /* that the kernels issue in a call; NaN: not known */
    as_limit    limit;                   /* of a call; AS_LIMIT_NONE: not known */
    double   floor_ns; /* the fixed cost of a call (clock, call, launch of a device): below it all sizes may take the same time */
    bool     told;     /* the device's time is simulated, not measured (null): nothing to judge */
    double   once_ns, twice_ns;   /* time of n calls and of 2 n calls; NaN: not measured */
    uint64_t hash, poisoned_hash; /* of the outputs; either 0: not known */
    bool     refused;             /* out */
    char     sentence[AS_SENTENCE_BYTES];
} as_claim;

/* Time of n calls and of 2 n calls: their ratio must be about 2.  False, with a message, below 1.5 or above 3; true where one of
 * them is not a time. */
bool as_double_is_plausible(double once_ns, double twice_ns, char *sentence, size_t size);
/* Nothing is faster than its limit: false when as_limit_judge() says that it is above.  hi_ns: the slow end of the interval, or NaN. */
bool as_limit_is_plausible(const as_limit *limit, double median_ns, double hi_ns, char *sentence, size_t size);
/* All tests on all cases; how many were refused. */
size_t as_claims_judge(as_claim *claims, size_t n);

#endif

/* roofline.h - what the roofs say about a plan as a whole, from a trace that describes it; it need not have been run. */
#ifndef AS_ANALYSIS_ROOFLINE_H
#define AS_ANALYSIS_ROOFLINE_H

#include "trace/trace.h"

/* Summed over the steps of the body: the least each can take at its roof, and the least that could be believed (the work that is really
 * issued, at the fast ends of the roofs, out of the fastest level; NaN where a roof was measured on a disturbed machine).  roof: the name of the one that weighs most. */
typedef struct as_roofline_least {
    double      roof_ns, fast_ns;
    const char *roof;
} as_roofline_least;
bool as_roofline_sum(const assay_trace *t, as_roofline_least *out); /* false: no step has a roof */

#endif

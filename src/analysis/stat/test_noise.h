/* test_noise.h - normal noise for the tests of statistics. */
#ifndef AS_ANALYSIS_TEST_NOISE_H
#define AS_ANALYSIS_TEST_NOISE_H

#include <math.h>

#include "base/random.h"

/* Box and Muller's, one of the pair. */
static inline double normal(as_pcg64 *g)
{
    double u = 1 - as_pcg64_double(g), v = as_pcg64_double(g);
    return sqrt(-2 * log(u)) * cos(6.28318530717958647692 * v);
}

#endif

/* tally.c - durations counted in boxes. */
#include "run/tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/metric.h"
#include "base/stats.h"

/* Below 2^(bits + 1) a box is one ns; above, each power of two has 2^bits boxes. */
static size_t box_of(uint64_t ns)
{
    if (ns < (UINT64_C(2) << AS_TALLY_BITS))
        return (size_t)ns;
    int shift = 63 - __builtin_clzll(ns) - AS_TALLY_BITS;
    return ((size_t)shift << AS_TALLY_BITS) + (size_t)(ns >> shift);
}

static double middle_of(size_t box)
{
    if (box < ((size_t)2 << AS_TALLY_BITS))
        return (double)box;
    int    shift = (int)(box >> AS_TALLY_BITS) - 1;
    size_t top = box - ((size_t)shift << AS_TALLY_BITS);
    return ldexp((double)top + 0.5, shift);
}

bool as_tally_open(as_tally *tally)
{
    *tally = (as_tally){.boxes = calloc(AS_TALLY_BOXES, sizeof *tally->boxes), .min_ns = UINT64_MAX};
    return tally->boxes != NULL;
}

void as_tally_drop(as_tally *tally)
{
    free(tally->boxes);
    *tally = (as_tally){0};
}

void as_tally_add(as_tally *tally, uint64_t ns)
{
    tally->boxes[box_of(ns)]++;
    tally->n++;
    if (ns < tally->min_ns)
        tally->min_ns = ns;
    if (ns > tally->max_ns)
        tally->max_ns = ns;
}

double as_tally_rank(const as_tally *tally, uint64_t rank)
{
    uint64_t below = 0;
    size_t   box = 0;
    if (rank >= tally->n)
        return NAN;
    while ((below += tally->boxes[box]) <= rank)
        box++;
    return fmin(fmax(middle_of(box), (double)tally->min_ns), (double)tally->max_ns);
}

assay_metric as_tally_quantile(const as_tally *tally, double q, const char *source, char *reason, size_t reason_size)
{
    size_t needs = as_quantile_needs(q), lo, hi;
    if (tally->n < needs) {
        snprintf(reason, reason_size, "needs %zu values, there %s %llu", needs, tally->n == 1 ? "is" : "are",
                 (unsigned long long)tally->n);
        return as_metric_unavailable("ns", reason);
    }
    double value = as_tally_rank(tally, (uint64_t)((double)(tally->n - 1) * q));
    if (!as_quantile_ranks((size_t)tally->n, q, 0.95, &lo, &hi))
        return as_metric_measured(value, NAN, NAN, tally->n, "ns", source);
    return as_metric_measured(value, fmin(value, as_tally_rank(tally, lo)), fmax(value, as_tally_rank(tally, hi)), tally->n, "ns",
                              source);
}

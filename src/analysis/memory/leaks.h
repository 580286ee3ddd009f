/* leaks.h - sites whose memory grows while the program does the same again and again. */
#ifndef AS_ANALYSIS_MEMORY_LEAKS_H
#define AS_ANALYSIS_MEMORY_LEAKS_H

#include "analysis/memory/lives.h"

#define AS_LEAK_SURE 0.99

typedef struct as_leak {
    uint32_t stack;
    int      place;
    double   slope;        /* bytes per iteration, or per second where there are none */
    double   confidence;   /* that it grows: the lesser of what the regression and the signs of its steps say */
    uint64_t live, n_live; /* at the end of the record */
    double   oldest_s;     /* age of its oldest block then */
} as_leak;

typedef struct as_leaks {
    as_leak *all; /* the steepest first */
    size_t   n;
    size_t   n_points;     /* moments at which each site was looked at; fewer than AS_LEAK_POINTS: nothing can be said */
    bool     by_iteration; /* else by equal parts of the time */
} as_leaks;
enum { AS_LEAK_POINTS = 8 };

/* What each site has in use is looked at after every iteration, or at equal distances of time, from a quarter of the record on: the first
 * ones fill caches.  A candidate grows over all of it and over its second half, too: what fills up and stays is not a leak.  False: no memory. */
bool as_leaks_find(const as_lives *l, as_arena *arena, as_leaks *out);

/* The slope of y over 0..n-1 by least squares, and the probability that one as steep comes of noise alone (one-sided). */
double as_slope(const double *y, size_t n, double *p);

#endif

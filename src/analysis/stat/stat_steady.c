/* stat_steady.c - is a series of block times steady, and from where on? */
#include "analysis/stat/stat.h"

enum { N_POINTS = 200, GROUP_MAX = 64, N_CHANGES = 32 };

#define ALPHA    0.01
#define MIN_STEP 0.01

const char *as_steady_text(as_steady s)
{
    static const char *const texts[AS_N_STEADY] = {"flat", "warm-up", "slowdown", "no steady state"};
    return texts[s];
}

/* The median of a group, of GROUP_MAX evenly spaced members if it is larger. */
static double group_median(const double *y, size_t n)
{
    double members[GROUP_MAX], scratch[GROUP_MAX];
    size_t m = n < GROUP_MAX ? n : GROUP_MAX;
    for (size_t i = 0; i < m; i++)
        members[i] = y[n * i / m];
    return as_median(members, m, scratch);
}

/* After Barrett and others (2017). */
static as_steady label(const as_change *changes, size_t n_changes, size_t n)
{
    if (!n_changes)
        return AS_STEADY_FLAT;
    const as_change *last = &changes[n_changes - 1];
    if (4 * (n - last->at) < n)
        return AS_STEADY_NONE;
    for (size_t i = 0; i < n_changes; i++)
        if (last->after > changes[i].before * (1 + MIN_STEP))
            return AS_STEADY_SLOWDOWN;
    return AS_STEADY_WARM_UP;
}

/* A long series is judged by the medians of N_POINTS groups: a change in a few blocks among thousands does not count. */
as_steady as_steady_label(const double *y, size_t n, uint64_t seed, size_t *from)
{
    double    points[N_POINTS] = {0};
    as_change changes[N_CHANGES];
    size_t    m = n < N_POINTS ? n : N_POINTS;
    for (size_t i = 0; i < m; i++)
        points[i] = group_median(y + n * i / m, n * (i + 1) / m - n * i / m);
    size_t n_changes = as_change_points(points, m, ALPHA, MIN_STEP, seed, changes, N_CHANGES);
    *from = n_changes ? n * changes[n_changes - 1].at / m : 0;
    return label(changes, n_changes, m);
}

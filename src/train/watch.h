/* watch.h - what a training run is watched for: numbers that leave their range, a loss that runs away, and costs that creep up.
 *
 * Everything here is a pure function of the numbers that it was given; nothing allocates after as_watch_open() and as_drift_open(). */
#ifndef AS_TRAIN_WATCH_H
#define AS_TRAIN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* --- Loss and norm of the gradient ----------------------------------------------------------------------------- */

enum { AS_WATCH_WINDOW = 128 };

/* The last values of a number, and how far a new one lies from them. */
typedef struct as_recent {
    double   values[AS_WATCH_WINDOW];
    uint64_t n; /* added so far */
} as_recent;
/* How many standard deviations x lies from the mean of the window, before it is added; NaN: fewer than 8 values, or they do not vary. */
double as_recent_z(const as_recent *w, double x);
void   as_recent_add(as_recent *w, double x);

typedef enum as_watch_verdict {
    AS_WATCH_FINE,
    AS_WATCH_NOT_FINITE, /* the loss, or the gradient without a loss scale to blame */
    AS_WATCH_DIVERGED    /* the loss stayed above its limit for long */
} as_watch_verdict;

typedef struct as_watch {
    as_recent loss, norm;
    double    best;           /* smallest smoothed loss so far; NaN: none yet */
    double    smooth;         /* exponentially, by 0.1 */
    double    factor;         /* diverged: the smoothed loss is this many times the best */
    uint64_t  patience;       /* for so many steps in a row */
    uint64_t  n_bad;          /* such steps in a row */
    uint64_t  began;          /* the step at which that began */
    double    z_loss, z_norm; /* of the last values */
    uint64_t  n_spikes;       /* losses more than 6 standard deviations above their window */
} as_watch;

void             as_watch_open(as_watch *w, double factor, uint64_t patience);
as_watch_verdict as_watch_add(as_watch *w, uint64_t step, double loss, double norm, bool skipped);

/* --- Costs that creep up --------------------------------------------------------------------------------------- */

enum { AS_DRIFT_POINTS = 64, AS_DRIFT_LEAST = 16 };

/* A cost over the whole run, in at most AS_DRIFT_POINTS means of equally many steps: when they are full, two become one. */
typedef struct as_drift {
    double   mean[AS_DRIFT_POINTS];
    uint64_t first[AS_DRIFT_POINTS]; /* step */
    int      n;
    uint64_t per_point, n_in_last;
    double   sum;
    uint64_t begin;
} as_drift;

void as_drift_open(as_drift *d, uint64_t per_point);
void as_drift_add(as_drift *d, uint64_t step, double cost);

/* The trend of the points, robust: Theil-Sen, with an interval from the order of all slopes (Kendall). */
typedef struct as_trend {
    bool     known;         /* at least AS_DRIFT_LEAST points */
    double   slope, lo, hi; /* per step; 99 % */
    double   level;         /* median */
    double   growth;        /* slope times the steps of the run, relative to the level */
    bool     creeps;        /* lo > 0, and the growth is at least `least` */
    uint64_t since;         /* the step from which on it does */
} as_trend;
void as_drift_trend(const as_drift *d, double least, as_trend *out);

#endif

/* watch.c - z-scores, divergence, and robust trends. */
#include "train/watch.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"

#define SMOOTH  0.1
#define SPIKE_Z 6.0
enum { LEAST_VALUES = 8 };

/* --- Windows ------------------------------------------------------------------------------------------------- */

double as_recent_z(const as_recent *w, double x)
{
    uint64_t n = w->n < AS_WATCH_WINDOW ? w->n : AS_WATCH_WINDOW;
    double   mean = 0, squares = 0;
    if (n < LEAST_VALUES)
        return NAN;
    for (uint64_t i = 0; i < n; i++)
        mean += w->values[i];
    mean /= (double)n;
    for (uint64_t i = 0; i < n; i++)
        squares += (w->values[i] - mean) * (w->values[i] - mean);
    double deviation = sqrt(squares / (double)(n - 1));
    return deviation > 0 ? (x - mean) / deviation : NAN;
}

void as_recent_add(as_recent *w, double x)
{
    if (isfinite(x))
        w->values[w->n++ % AS_WATCH_WINDOW] = x;
}

/* --- Loss ------------------------------------------------------------------------------------------------------ */

void as_watch_open(as_watch *w, double factor, uint64_t patience)
{
    *w = (as_watch){.best = NAN, .smooth = NAN, .factor = factor, .patience = patience, .z_loss = NAN, .z_norm = NAN};
}

/* The loss of one batch is noisy: its smoothed value is what may diverge.  A best loss of
 * almost 0 is not a measure: one below 1e-6 counts as that. */
static bool is_bad(const as_watch *w) { return w->smooth > w->factor * fmax(w->best, 1e-6); }

as_watch_verdict as_watch_add(as_watch *w, uint64_t step, double loss, double norm, bool skipped)
{
    w->z_loss = as_recent_z(&w->loss, loss);
    w->z_norm = as_recent_z(&w->norm, norm);
    if (!isfinite(loss) || (isinf(norm) && !skipped))
        return AS_WATCH_NOT_FINITE;
    w->n_spikes += w->z_loss > SPIKE_Z;
    as_recent_add(&w->loss, loss);
    as_recent_add(&w->norm, norm);
    w->smooth = isnan(w->smooth) ? loss : w->smooth + SMOOTH * (loss - w->smooth);
    if (w->loss.n >= LEAST_VALUES && !(w->best <= w->smooth))
        w->best = w->smooth;
    if (!isnan(w->best) && is_bad(w)) {
        w->began = w->n_bad++ ? w->began : step;
        return w->n_bad >= w->patience ? AS_WATCH_DIVERGED : AS_WATCH_FINE;
    }
    w->n_bad = 0;
    return AS_WATCH_FINE;
}

/* --- Drift ------------------------------------------------------------------------------------------------------- */

void as_drift_open(as_drift *d, uint64_t per_point)
{
    memset(d, 0, sizeof *d);
    d->per_point = per_point ? per_point : 1;
}

static void halve(as_drift *d)
{
    for (int i = 0; i < AS_DRIFT_POINTS / 2; i++) {
        d->mean[i] = (d->mean[2 * i] + d->mean[2 * i + 1]) / 2;
        d->first[i] = d->first[2 * i];
    }
    d->n = AS_DRIFT_POINTS / 2;
    d->per_point *= 2;
}

void as_drift_add(as_drift *d, uint64_t step, double cost)
{
    if (!isfinite(cost))
        return;
    if (!d->n_in_last++)
        d->begin = step;
    d->sum += cost;
    if (d->n_in_last < d->per_point)
        return;
    if (d->n == AS_DRIFT_POINTS)
        halve(d);
    if (d->n_in_last < d->per_point) /* it was halved: the point goes on */
        return;
    d->mean[d->n] = d->sum / (double)d->n_in_last;
    d->first[d->n++] = d->begin;
    d->sum = 0;
    d->n_in_last = 0;
}

/* The first point after which no value is as low as the median of the points before it. */
static uint64_t creeping_since(const as_drift *d)
{
    double scratch[AS_DRIFT_POINTS];
    int    at = 0;
    for (int i = LEAST_VALUES / 2; i < d->n - 2; i++) {
        double before = as_median(d->mean, (size_t)i, scratch);
        int    lower = 0;
        for (int k = i; k < d->n; k++)
            lower += d->mean[k] <= before;
        if (!lower) {
            at = i;
            break;
        }
    }
    return d->first[at];
}

/* What steps up once, as memory does at the first evaluation, has a slope, too; what creeps still rises at the end. */
static bool still_rises(const as_drift *d, double slope)
{
    double scratch[AS_DRIFT_POINTS];
    int    quarter = d->n / 4;
    double last = as_median(d->mean + d->n - quarter, (size_t)quarter, scratch);
    double before = as_median(d->mean + d->n - 2 * quarter, (size_t)quarter, scratch);
    return last - before >= slope * (double)(d->first[d->n - 1] - d->first[d->n - 1 - quarter]) / 4;
}

void as_drift_trend(const as_drift *d, double least, as_trend *out)
{
    enum { PAIRS = AS_DRIFT_POINTS * (AS_DRIFT_POINTS - 1) / 2 };
    double slopes[PAIRS], scratch[AS_DRIFT_POINTS];
    size_t n = 0;
    *out = (as_trend){.known = d->n >= AS_DRIFT_LEAST, .slope = NAN, .lo = NAN, .hi = NAN, .level = NAN, .growth = NAN};
    if (!out->known)
        return;
    for (int i = 0; i < d->n; i++)
        for (int k = i + 1; k < d->n; k++)
            slopes[n++] = (d->mean[k] - d->mean[i]) / (double)(d->first[k] - d->first[i]);
    as_sort(slopes, n);
    /* Kendall's S has this variance when there is no trend: the ranks of the slopes bound it. */
    double points = d->n, half = 2.5758 * sqrt(points * (points - 1) * (2 * points + 5) / 18) / 2, middle = (double)(n - 1) / 2;
    double lo = fmax(0, floor(middle - half)), hi = fmin((double)(n - 1), ceil(middle + half));
    out->slope = as_quantile_sorted(slopes, n, .5);
    out->lo = slopes[(size_t)lo];
    out->hi = slopes[(size_t)hi];
    out->level = as_median(d->mean, (size_t)d->n, scratch);
    double steps = (double)(d->first[d->n - 1] - d->first[0]);
    out->growth = out->level > 0 ? out->slope * steps / out->level : out->slope > 0 ? INFINITY : 0;
    out->creeps = out->lo > 0 && out->growth >= least && still_rises(d, out->slope);
    out->since = out->creeps ? creeping_since(d) : 0;
}

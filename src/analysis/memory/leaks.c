/* leaks.c - live bytes per site, regressed over steady iterations. */
#include "analysis/memory/leaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stat/stat.h"

enum { TIME_POINTS = 40, MAX_POINTS = 400, MAX_SITES = 4096 };

double as_slope(const double *y, size_t n, double *p)
{
    double mid = ((double)n - 1) / 2, mean = 0, sxx = 0, sxy = 0, rest = 0;
    *p = 1;
    if (n < 3)
        return 0;
    for (size_t i = 0; i < n; i++)
        mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        sxx += ((double)i - mid) * ((double)i - mid);
        sxy += ((double)i - mid) * (y[i] - mean);
    }
    double slope = sxy / sxx;
    for (size_t i = 0; i < n; i++) {
        double off = y[i] - mean - slope * ((double)i - mid);
        rest += off * off;
    }
    double freedom = (double)n - 2, error = sqrt(rest / freedom / sxx);
    if (slope <= 0)
        return slope;
    if (error <= slope * 1e-9) { /* a straight line */
        *p = 0;
        return slope;
    }
    double t = slope / error;
    *p = exp(as_log_beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5)) / 2;
    return slope;
}

/* --- The moments --------------------------------------------------------------------------------------------- */

/* Numbers of the events before which something is looked at, rising. */
static size_t points_by_mark(const as_lives *l, uint32_t *points)
{
    const assay_trace *t = l->t;
    size_t             n_marks = 0, k = 0, n = 0;
    for (size_t i = 0; i < t->n_marks; i++)
        n_marks += !strcmp(t->marks[i].name, AS_MARK_ITERATION);
    size_t   skip = n_marks / 4, every = (n_marks - skip + MAX_POINTS - 1) / MAX_POINTS;
    uint32_t e = 0;
    for (size_t i = 0; i < t->n_marks; i++) {
        if (strcmp(t->marks[i].name, AS_MARK_ITERATION))
            continue;
        while (e < t->n_memory_events && t->memory_events[e].ticks <= t->marks[i].ticks)
            e++;
        if (k >= skip && !((k - skip) % (every ? every : 1)) && n < MAX_POINTS)
            points[n++] = e;
        k++;
    }
    return n;
}

static size_t points_by_time(const as_lives *l, uint32_t *points)
{
    double   span = (double)(l->last_ticks - l->first_ticks);
    uint32_t e = 0;
    size_t   n = 0;
    for (; n < TIME_POINTS && span > 0; n++) {
        double at = (double)l->first_ticks + span * (0.25 + 0.75 * ((double)n + 0.5) / TIME_POINTS);
        while (e < l->t->n_memory_events && (double)l->t->memory_events[e].ticks <= at)
            e++;
        points[n] = e;
    }
    return n;
}

/* --- The sites ------------------------------------------------------------------------------------------------ */

static int by_site(const void *a, const void *b)
{
    const as_life *x = *(const as_life *const *)a, *y = *(const as_life *const *)b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->stack != y->stack ? (x->stack < y->stack ? -1 : 1) : x->born < y->born ? -1 : x->born > y->born;
}

/* The first point whose looking comes after the event, so that a block born there is seen from it on. */
static size_t point_after(const uint32_t *points, size_t n, uint32_t event)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (points[mid] > event)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* How likely so many rises among the steps that are not level come of a coin. */
static double rises_p(const double *y, size_t n)
{
    int64_t up = 0, down = 0;
    for (size_t i = 1; i < n; i++) {
        up += y[i] > y[i - 1];
        down += y[i] < y[i - 1];
    }
    return up + down ? as_sign_p(up, up + down) : 1;
}

static bool grows(const double *y, size_t n, double *slope, double *confidence)
{
    double p, p_half, half = as_slope(y + n / 2, n - n / 2, &p_half), signs = rises_p(y, n);
    *slope = as_slope(y, n, &p);
    *confidence = 1 - fmax(p, signs);
    return *slope > 0 && half > 0 && p_half < 0.05 && y[n - 1] > y[n / 2] && *confidence >= AS_LEAK_SURE;
}

static int by_slope(const void *a, const void *b)
{
    const as_leak *x = a, *y = b;
    return x->slope > y->slope ? -1 : x->slope < y->slope;
}

static void site_judge(const as_lives *l, const as_life *const *lives, size_t n, const uint32_t *points, double *y, as_leaks *out)
{
    as_leak leak = {.stack = lives[0]->stack, .place = lives[0]->place};
    double  oldest = INFINITY;
    memset(y, 0, out->n_points * sizeof *y);
    for (size_t i = 0; i < n; i++) { /* differences first, then their sums */
        size_t from = point_after(points, out->n_points, lives[i]->born),
               to = lives[i]->died == AS_NOT_YET ? out->n_points : point_after(points, out->n_points, lives[i]->died);
        if (from < out->n_points)
            y[from] += (double)lives[i]->bytes;
        if (to < out->n_points)
            y[to] -= (double)lives[i]->bytes;
        if (lives[i]->died == AS_NOT_YET) {
            leak.live += lives[i]->bytes;
            leak.n_live++;
            oldest = fmin(oldest, as_event_s(l, lives[i]->born));
        }
    }
    for (size_t i = 1; i < out->n_points; i++)
        y[i] += y[i - 1];
    if (!grows(y, out->n_points, &leak.slope, &leak.confidence))
        return;
    leak.oldest_s = as_event_s(l, AS_NOT_YET) - oldest;
    out->all[out->n++] = leak;
}

bool as_leaks_find(const as_lives *l, as_arena *arena, as_leaks *out)
{
    uint32_t points[MAX_POINTS];
    double   y[MAX_POINTS];
    *out = (as_leaks){.n_points = points_by_mark(l, points)};
    out->by_iteration = out->n_points >= AS_LEAK_POINTS;
    if (!out->by_iteration)
        out->n_points = points_by_time(l, points);
    const as_life **order = AS_TAKE(arena, const as_life *, l->n);
    out->all = AS_TAKE(arena, as_leak, MAX_SITES);
    if (!order || !out->all)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (!l->places[l->all[i].place].inside)
            order[n++] = &l->all[i];
    if (n)
        qsort(order, n, sizeof *order, by_site);
    for (size_t i = 0, k; i < n && out->n_points >= AS_LEAK_POINTS && out->n < MAX_SITES; i = k) {
        for (k = i + 1; k < n && order[k]->place == order[i]->place && order[k]->stack == order[i]->stack;)
            k++;
        if (k - i >= 4) /* fewer blocks make no slope */
            site_judge(l, order + i, k - i, points, y, out);
    }
    if (!out->by_iteration && out->n_points) { /* per second */
        double step = as_event_s(l, AS_NOT_YET) * 0.75 / TIME_POINTS;
        for (size_t i = 0; i < out->n && step > 0; i++)
            out->all[i].slope /= step;
    }
    if (out->n)
        qsort(out->all, out->n, sizeof *out->all, by_slope);
    return true;
}

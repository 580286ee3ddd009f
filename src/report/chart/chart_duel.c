/* chart_duel.c - comparisons: many with their intervals, and one round by round. */
#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "report/pick.h"
#include "report/chart/svg.h"

/* --- Forest ------------------------------------------------------------------------------------------------- */

enum { ROW = 26, LABEL_WIDTH = 230, LABEL_CHARS = 34, WORDS_WIDTH = 200, TOP = 8, AXIS_ROOM = 30, MAX_ROWS = 400 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The ends of the rows, but for a few that would press all others together: three times as far as three of four reach. */
bool as_forest_range(as_arena *arena, const as_forest_row *rows, int n, double margin, double *lo, double *hi)
{
    double *reach = AS_TAKE(arena, double, n), least = fmax(margin, .002) * 1.3;
    int     n_reach = 0;
    *lo = -least, *hi = least;
    for (int i = 0; reach && i < n; i++) {
        if (!isfinite(rows[i].value))
            continue;
        double low = isfinite(rows[i].lo) ? rows[i].lo : rows[i].value, high = isfinite(rows[i].hi) ? rows[i].hi : rows[i].value;
        *lo = fmin(*lo, low), *hi = fmax(*hi, high);
        reach[n_reach++] = fmax(fabs(low), fabs(high));
    }
    if (!n_reach || !isfinite(*hi - *lo))
        return false;
    qsort(reach, (size_t)n_reach, sizeof *reach, by_value);
    double limit = fmax(3 * reach[(n_reach - 1) * 3 / 4], least);
    *lo = fmax(*lo, -limit), *hi = fmin(*hi, limit);
    return true;
}

static double pinned(const as_axis *axis, double value) { return fmin(fmax(as_axis_share(axis, value), 0), 1); }

/* "+5 %", so that the sides can be told apart without the zero line. */
static const char *signed_label(const as_axis *axis, char *buf, size_t size, double value)
{
    char plain[48];
    as_axis_label(axis, plain, sizeof plain, value);
    snprintf(buf, size, "%s%s", value > axis->step / 2 ? "+" : "", plain);
    return buf;
}

static void forest_row(as_paint *p, const as_forest_row *r, const as_axis *axis, double y, double left, double width)
{
    const char *tone = as_level_class(r->level);
    const char *tip = as_arena_printf(p->arena, "%s: %s%s%s", r->label, r->words ? r->words : "",
                                      r->detail && *r->detail ? ", " : "", r->detail ? r->detail : "");
    double      middle = y + ROW
    / 2.0;
    as_paint_words(p, left - 12, middle + 4, "end", "text", as_name_cut(p->arena, r->label, LABEL_CHARS));
    as_paint_words(p, AS_CHART_WIDTH - 2, middle + 4, "end", tone, as_text_cut(p->arena, r->words ? r->words : "", 30));
    if (!isfinite(r->value))
        return;
    if (isfinite(r->lo) && isfinite(r->hi)) {
        double x0 = left + pinned(axis, r->lo) * width, x1 = left + pinned(axis, r->hi) * width;
        as_paint_rect(p, x0, middle - 3, fmax(x1 - x0, 1.5), 6, tone, tip);
    }
    for (int side = -1; side <= 1; side += 2) { /* an arrow where it goes on beyond the axis */
        double end = side > 0 ? fmax(r->value, r->hi) : fmin(r->value, r->lo), x = left + (side > 0 ? width : 0);
        if (side > 0 ? end > axis->hi : end < axis->lo)
            as_paint_area(p, (const double[]){x - 6 * side, middle - 7, x + 6 * side, middle, x - 6 * side, middle + 7}, 3, tone,
                          tip);
    }
    if (r->value >= axis->lo && r->value <= axis->hi)
        as_paint_dot(p, left + as_axis_share(axis, r->value) * width, middle, 5, tone, tip);
}

const char *as_svg_forest(as_arena *arena, const as_forest_row *rows, int n, double margin, const char *title)
{
    as_paint p;
    as_axis  axis;
    char     label[64];
    double   lo, hi, left = LABEL_WIDTH, width = AS_CHART_WIDTH - LABEL_WIDTH - WORDS_WIDTH;
    n = n < MAX_ROWS ? n : MAX_ROWS;
    margin = margin > 0 && isfinite(margin) ? margin : 0;
    if (!as_forest_range(arena, rows, n, margin, &lo, &hi) || !as_axis_make(&axis, lo, hi, 6, "ratio"))
        return "";
    double bottom = TOP + (double)n * ROW;
    as_paint_open(&p, arena, bottom + AXIS_ROOM, title);
    if (margin > 0)
        as_paint_rect(&p, left + as_axis_share(&axis, -margin) * width, TOP,
                      (as_axis_share(&axis, margin) - as_axis_share(&axis, -margin)) * width, bottom - TOP, "band", NULL);
    for (double v = axis.lo; v <= axis.hi + axis.step / 2; v += axis.step) {
        double x = left + as_axis_share(&axis, v) * width;
        as_paint_line(&p, x, TOP, x, bottom, "grid");
        as_paint_words(&p, x, bottom + 18, "middle", "faint", signed_label(&axis, label, sizeof label, v));
    }
    double zero = left + as_axis_share(&axis, 0) * width;
    as_paint_line(&p, zero, TOP, zero, bottom, "zero");
    for (int i = 0; i < n; i++)
        forest_row(&p, &rows[i], &axis, TOP + (double)i * ROW, left, width);
    return as_paint_close(&p);
}

/* --- One comparison ----------------------------------------------------------------------------------------- */

enum { LEFT = 64, GAP = 14, SIDE = 120, HEIGHT = 220, DUEL_TOP = 24, N_BINS = 44 };

/* The body of the rounds, the interval and the margin are in; what lies further out is pinned to the edge. */
static bool duel_range(as_arena *arena, const as_duel_picture *d, double *lo, double *hi)
{
    double *sorted = AS_TAKE(arena, double, d->n);
    size_t  n = 0;
    for (size_t i = 0; sorted && i < d->n; i++)
        if (isfinite(d->y[i]))
            sorted[n++] = d->y[i];
    if (!n)
        return false;
    as_sort(sorted, n);
    double q1 = as_quantile_sorted(sorted, n, .25), q3 = as_quantile_sorted(sorted, n, .75), reach = 2.5 * (q3 - q1);
    *lo = fmax(sorted[0], q1 - reach), *hi = fmin(sorted[n - 1], q3 + reach);
    const double also[] = {0, d->estimate, d->lo, d->hi, -d->margin * 1.15, d->margin * 1.15};
    for (size_t i = 0; i < AS_COUNT(also); i++)
        if (isfinite(also[i]))
            *lo = fmin(*lo, also[i]), *hi = fmax(*hi, also[i]);
    return true;
}

/* How the rounds are distributed, lying on its side. */
static void side_paint(as_paint *p, const as_duel_picture *d, const as_axis *axis, double x, double floor_y)
{
    size_t counts[N_BINS] = {0}, most = 1;
    for (size_t i = 0; i < d->n; i++)
        if (isfinite(d->y[i])) {
            int bin = (int)(pinned(axis, d->y[i]) * N_BINS);
            bin = bin < N_BINS ? bin : N_BINS - 1;
            most = ++counts[bin] > most ? counts[bin] : most;
        }
    for (int i = 0; i < N_BINS; i++)
        if (counts[i])
            as_paint_rect(p, x, floor_y - (i + 1.0) / N_BINS * HEIGHT + .5, (double)counts[i] / (double)most * SIDE,
                          (double)HEIGHT / N_BINS - 1, "c0", NULL);
}

static void level_paint(as_paint *p, const as_axis *axis, double value, double right, const char *class)
{
    double y = DUEL_TOP + HEIGHT - as_axis_share(axis, value) * HEIGHT;
    as_paint_line(p, LEFT, y, right, y, class);
}

static const char *interval_tip(as_arena *arena, const as_duel_picture *d)
{
    const char *tip = as_arena_printf(arena, "%+.2f %%, from %+.2f %% to %+.2f %%", 100 * d->estimate, 100 * d->lo, 100 * d->hi);
    return tip ? tip : "";
}

const char *as_svg_duel(as_arena *arena, const as_duel_picture *d, const char *title)
{
    as_paint p;
    as_axis  axis, time;
    char     label[64];
    double   lo, hi, x_lo, x_hi, width = AS_CHART_WIDTH - LEFT - GAP - SIDE - 10, right = LEFT + width + GAP + SIDE,
                               floor_y = DUEL_TOP + HEIGHT;
    size_t n_out = 0;
    if (!duel_range(arena, d, &lo, &hi) || !as_axis_make(&axis, lo, hi, 5, "ratio") || !as_range_of(d->x, d->n, &x_lo, &x_hi))
        return "";
    as_paint_open(&p, arena, floor_y + 28, title);
    if (isfinite(d->lo) && isfinite(d->hi)) {
        double y = floor_y - as_axis_share(&axis, d->hi) * HEIGHT,
               h = (as_axis_share(&axis, d->hi) - as_axis_share(&axis, d->lo)) * HEIGHT;
        as_paint_veil(&p, (const double[]){LEFT, y, right, y, right, y + fmax(h, 1.5), LEFT, y + fmax(h, 1.5)}, 4,
                      as_level_class(d->level), interval_tip(arena, d));
    }
    for (double v = axis.lo; v <= axis.hi + axis.step / 2; v += axis.step) {
        level_paint(&p, &axis, v, right, "grid");
        as_paint_words(&p, LEFT - 8, floor_y - as_axis_share(&axis, v) * HEIGHT + 4, "end", "faint",
                       signed_label(&axis, label, sizeof label, v));
    }
    for (size_t i = 0; i < d->n; i++) {
        if (!isfinite(d->y[i]) || !isfinite(d->x[i]))
            continue;
        bool out = d->y[i] < axis.lo || d->y[i] > axis.hi;
        n_out += out;
        as_paint_dot(&p, LEFT + (x_hi > x_lo ? (d->x[i] - x_lo) / (x_hi - x_lo) : .5) * width,
                     floor_y - pinned(&axis, d->y[i]) * HEIGHT,
                     out          ? 3
                     : d->n > 400 ? 1.6
                                  : 2.4,
                     out ? "c1" : "c0", NULL);
    }
    side_paint(&p, d, &axis, LEFT + width + GAP, floor_y);
    level_paint(&p, &axis, 0, right, "zero");
    for (int side = -1; side <= 1 && d->margin > 0; side += 2)
        level_paint(&p, &axis, side * d->margin, right, "limit");
    if (as_axis_make(&time, x_lo, x_hi, 6, "s"))
        for (double v = time.lo; v <= time.hi; v += time.step)
            if (v >= x_lo && v <= x_hi && x_hi > x_lo)
                as_paint_words(&p, LEFT + (v - x_lo) / (x_hi - x_lo) * width, floor_y + 18, "middle", "faint",
                               as_axis_label(&time, label, sizeof label, v));
    snprintf(label, sizeof label, "- - margin %.3g %%", 100 * d->margin);
    if (d->margin > 0) /* above the plot, where no dot and no bar can be */
        as_paint_words(&p, right, 14, "end", "marktext", label);
    if (n_out) {
        snprintf(label, sizeof label, "%zu %s further out", n_out, n_out == 1 ? "round lies" : "rounds lie");
        as_paint_words(&p, LEFT, 14, "start", "faint", label);
    }
    return as_paint_close(&p);
}

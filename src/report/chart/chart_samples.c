/* chart_samples.c - what many samples look like: their distribution, and their course. */
#include <math.h>

#include "report/pick.h"
#include "report/chart/svg.h"

enum { LEFT = 64, RIGHT = 34, MAX_BINS = 72, MAX_MARKS = 16 };

/* --- Histogram ------------------------------------------------------------------------------------------ */

/* Position in the axis' own coordinate: logarithms when the tail is far out, so that the body can still be seen. */
typedef struct ruler {
    as_axis     axis;
    bool        log;
    double      lo, hi;
    const char *unit;
} ruler;

static double ruler_share(const ruler *r, double x)
{
    return r->log ? (log(x) - r->lo) / (r->hi - r->lo) : as_axis_share(&r->axis, x);
}

static bool ruler_make(ruler *r, double lo, double hi, const char *unit)
{
    *r = (ruler){.log = lo > 1e-200 && hi / lo > 8, .unit = unit};
    if (!as_axis_make(&r->axis, lo, hi, 6, unit))
        return false;
    r->lo = r->log ? log(lo) - .02 : 0;
    r->hi = r->log ? log(hi) + .02 : 0;
    return true;
}

static void ruler_paint(const ruler *r, as_paint *p, double y_top, double y, double width)
{
    char label[64];
    if (!r->log) {
        for (double v = r->axis.lo; v <= r->axis.hi + r->axis.step / 2; v += r->axis.step) {
            double x = LEFT + ruler_share(r, v) * width;
            as_paint_line(p, x, y_top, x, y, "grid");
            as_paint_words(p, x, y + 17, "middle", "faint", as_axis_label(&r->axis, label, sizeof label, v));
        }
        return;
    }
    static const double leads[] = {1, 2, 5};
    double              last_x = -100;
    for (double power = pow(10, floor(r->lo / log(10))); log(power) < r->hi; power *= 10)
        for (int i = 0; i < 3; i++) {
            double v = leads[i] * power, share = ruler_share(r, v), x = LEFT + share * width;
            if (share < 0 || share > 1 || x < last_x + 56)
                continue;
            last_x = x;
            as_paint_line(p, x, y_top, x, y, "grid");
            as_paint_words(p, x, y + 17, "middle", "faint", as_show_signs(p->arena, v, r->unit ? r->unit : "1"));
        }
}

/* Marks whose labels would touch go one row down. */
static void marks_paint(const ruler *r, as_paint *p, const as_mark *marks, int n, double y, double width)
{
    double ends[3] = {-1, -1, -1};
    for (int i = 0; i < n && i < MAX_MARKS; i++) {
        if (!isfinite(marks[i].x) || (r->log && !(marks[i].x > 0)))
            continue;
        double x = LEFT + ruler_share(r, marks[i].x) * width, half = 3.6 * as_text_columns(marks[i].label) + 4;
        int    row = 0;
        if (x < LEFT - 1 || x > LEFT + width + 1)
            continue;
        while (row < 2 && x - half < ends[row])
            row++;
        ends[row] = x + half;
        as_paint_line(p, x, 18 + 14 * row, x, y, "mark");
        as_paint_words(p, x, 13 + 14 * row, "middle", "marktext", marks[i].label);
    }
}

static void bins_paint(const ruler *r, as_paint *p, const size_t *counts, int n_bins, size_t most, double top, double bottom,
                       double width)
{
    char    tip[160], a[64], b[64];
    as_axis finer = r->axis; /* bins are narrower than steps */
    finer.decimals++;
    for (int i = 0; i < n_bins; i++) {
        if (!counts[i])
            continue;
        double from = (double)i / n_bins, to = (double)(i + 1) / n_bins, h = (double)counts[i] / (double)most * (bottom - top);
        double v0 = r->log ? exp(r->lo + from * (r->hi - r->lo)) : r->axis.lo + from * (r->axis.hi - r->axis.lo);
        double v1 = r->log ? exp(r->lo + to * (r->hi - r->lo)) : r->axis.lo + to * (r->axis.hi - r->axis.lo);
        snprintf(tip, sizeof tip, "%zu samples from %s to %s", counts[i], as_axis_label(&finer, a, sizeof a, v0),
                 as_axis_label(&finer, b, sizeof b, v1));
        as_paint_rect(p, LEFT + from * width + .5, bottom - h, (to - from) * width - 1, h, "c0", tip);
    }
}

const char *as_svg_histogram(as_arena *arena, const double *x, size_t n, const char *unit, const as_mark *marks, int n_marks,
                             const char *title)
{
    as_paint p;
    ruler    r;
    char     words[160];
    double   lo, hi, width = AS_CHART_WIDTH - LEFT - RIGHT, top = 48, bottom = 220;
    size_t   counts[MAX_BINS] = {0}, most = 1, n_beyond = 0;
    if (!as_range_of(x, n, &lo, &hi) || !ruler_make(&r, lo, as_far_end(arena, x, n, hi), unit))
        return "";
    int n_bins = (int)fmin(fmax(2 * sqrt((double)n), 8), MAX_BINS);
    for (size_t i = 0; i < n; i++) {
        double share = isfinite(x[i]) ? ruler_share(&r, x[i]) : 2;
        n_beyond += isfinite(x[i]) && share > 1;
        if (share > 1)
            continue;
        int bin = share > 0 ? (int)(share * n_bins) : 0;
        bin = bin >= n_bins ? n_bins - 1 : bin;
        most = ++counts[bin] > most ? counts[bin] : most;
    }
    as_paint_open(&p, arena, bottom + 28, title);
    ruler_paint(&r, &p, top, bottom, width);
    bins_paint(&r, &p, counts, n_bins, most, top, bottom, width);
    as_paint_line(&p, LEFT, bottom, LEFT + width, bottom, "axis");
    snprintf(words, sizeof words, "%zu", most);
    as_paint_words(&p, LEFT - 8, top + 4, "end", "faint", words);
    as_paint_words(&p, LEFT - 8, bottom + 4, "end", "faint", "0");
    marks_paint(&r, &p, marks, n_marks, bottom, width);
    if (n_beyond) {
        snprintf(words, sizeof words, "%zu beyond, up to %s", n_beyond, as_show_signs(arena, hi, unit ? unit : "1"));
        double h = fmin((double)n_beyond / (double)most, 1) * (bottom - top);
        as_paint_rect(&p, LEFT + width + 8, bottom - fmax(h, 2), 12, fmax(h, 2), "c1", words);
        as_paint_words(&p, LEFT + width + 20, top - 8, "end", "faint", words);
    }
    return as_paint_close(&p);
}

/* --- Line ----------------------------------------------------------------------------------------------- */

enum { LINE_HEIGHT = 180, LINE_TOP = 12 };

static double x_at(const double *x, size_t i) { return x ? x[i] : (double)i; }

/* One vertical stroke a pixel column, from the least to the greatest sample that falls on it: no spike is lost to thinning. */
static void course_paint(as_paint *p, const double *x, const double *y, size_t n, double x_lo, double x_hi, const as_axis *axis)
{
    double width = AS_CHART_WIDTH - LEFT - RIGHT, floor_y = LINE_TOP + LINE_HEIGHT, lo = INFINITY, hi = -INFINITY, first = 0,
           last = 0;
    long column = -1;
    bool started = false;
    as_text_add(&p->text,
                "<path class=\"line\" fill=\"none\" stroke=\"#4263c9\" stroke-width=\"1.2\" stroke-linejoin=\"round\" d=\"");
    for (size_t i = 0; i <= n; i++) {
        bool ok = i < n && isfinite(y[i]) && isfinite(x_at(x, i));
        long at = ok ? lround((x_hi > x_lo ? (x_at(x, i) - x_lo) / (x_hi - x_lo) : .5) * width) : -2;
        if (i < n && !ok)
            continue;
        if (at != column && hi >= lo) {
            double points[] = {first, lo, hi, last};
            for (int k = 0; k < 4; k++) {
                if (k && points[k] == points[k - 1])
                    continue;
                as_text_add(&p->text, started ? "L" : "M");
                as_paint_number(p, LEFT + (double)column);
                as_text_add(&p->text, " ");
                as_paint_number(p, floor_y - as_axis_share(axis, points[k]) * LINE_HEIGHT);
                started = true;
            }
            lo = INFINITY, hi = -INFINITY;
        }
        if (i == n)
            break;
        if (hi < lo)
            first = y[i];
        column = at, last = y[i], lo = fmin(lo, y[i]), hi = fmax(hi, y[i]);
    }
    as_text_add(&p->text, "\"/>\n");
}

const char *as_svg_line(as_arena *arena, const double *x, const double *y, size_t n, const char *x_unit, const char *y_unit,
                        const char *title)
{
    as_paint p;
    as_axis  axis, time;
    char     label[64];
    double   lo, hi, x_lo = 0, x_hi = n ? (double)(n - 1) : 0, width = AS_CHART_WIDTH - LEFT - RIGHT,
                   floor_y = LINE_TOP + LINE_HEIGHT;
    if (!as_range_of(y, n, &lo, &hi) || (x && !as_range_of(x, n, &x_lo, &x_hi)) || !as_axis_make(&axis, lo, hi, 4, y_unit))
        return "";
    as_paint_open(&p, arena, floor_y + 28, title);
    for (double v = axis.lo; v <= axis.hi + axis.step / 2; v += axis.step) {
        double at = floor_y - as_axis_share(&axis, v) * LINE_HEIGHT;
        as_paint_line(&p, LEFT, at, LEFT + width, at, "grid");
        as_paint_words(&p, LEFT - 8, at + 4, "end", "faint", as_axis_label(&axis, label, sizeof label, v));
    }
    if (as_axis_make(&time, x_lo, x_hi, 6, x ? x_unit : "1"))
        for (double v = time.lo; v <= time.hi; v += time.step) {
            double share = x_hi > x_lo ? (v - x_lo) / (x_hi - x_lo) : .5;
            if (share >= 0 && share <= 1)
                as_paint_words(&p, LEFT + share * width, floor_y + 18, "middle", "faint",
                               as_axis_label(&time, label, sizeof label, v));
        }
    course_paint(&p, x, y, n, x_lo, x_hi, &axis);
    as_paint_line(&p, LEFT, floor_y, LEFT + width, floor_y, "axis");
    return as_paint_close(&p);
}

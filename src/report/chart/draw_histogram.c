/* draw_histogram.c - "histogram": how the values of the first series are distributed, on a linear or a logarithmic axis as their range
 * asks for, with marks (median, quantiles). */
#include <math.h>

#include "report/chart/draw.h"

enum { LEFT = 64, RIGHT = 34, TOP = 48, BOTTOM = 220, MAX_BINS = 72, MAX_MARKS = 16 };

/* Position in the axis' own coordinate: logarithms when the tail is far out, so that the body can still be seen. */
typedef struct ruler {
    as_axis     axis;
    bool        log;
    double      lo, hi, width;
    const char *unit;
} ruler;

static double ruler_share(const ruler *r, double x)
{
    return r->log ? (log(x) - r->lo) / (r->hi - r->lo) : as_axis_share(&r->axis, x);
}

static double ruler_at(const ruler *r, double share)
{
    return r->log ? exp(r->lo + share * (r->hi - r->lo)) : r->axis.lo + share * (r->axis.hi - r->axis.lo);
}

static bool ruler_make(ruler *r, double lo, double hi, const char *unit)
{
    *r = (ruler){.log = lo > 1e-200 && hi / lo > 8, .width = AS_CHART_WIDTH - LEFT - RIGHT, .unit = unit ? unit : "1"};
    if (!as_axis_make(&r->axis, lo, hi, 6, unit))
        return false;
    r->lo = r->log ? log(lo) - .02 : 0;
    r->hi = r->log ? log(hi) + .02 : 0;
    return true;
}

static void tick_paint(const ruler *r, as_paint *p, double value, const char *label)
{
    double x = LEFT + ruler_share(r, value) * r->width;
    as_paint_line(p, x, TOP, x, BOTTOM, "grid");
    as_paint_words(p, x, BOTTOM + 17, "middle", "faint", label);
}

static void ruler_paint(const ruler *r, as_paint *p)
{
    char label[64];
    if (!r->log) {
        for (double v = r->axis.lo; v <= r->axis.hi + r->axis.step / 2; v += r->axis.step)
            tick_paint(r, p, v, as_axis_label(&r->axis, label, sizeof label, v));
        return;
    }
    static const double leads[] = {1, 2, 5};
    double              last_x = -100;
    for (double power = pow(10, floor(r->lo / log(10))); log(power) < r->hi; power *= 10)
        for (int i = 0; i < 3; i++) {
            double v = leads[i] * power, share = ruler_share(r, v), x = LEFT + share * r->width;
            if (share < 0 || share > 1 || x < last_x + 56)
                continue;
            last_x = x;
            tick_paint(r, p, v, as_show_signs(p->arena, v, r->unit));
        }
}

/* Marks whose labels would touch go one row down. */
static void marks_paint(const ruler *r, as_paint *p, const as_chart *c)
{
    double ends[3] = {-1, -1, -1};
    for (int i = 0; i < c->n_marks && i < MAX_MARKS; i++) {
        const as_mark *m = &c->marks[i];
        const char    *label = m->label ? m->label : "";
        if (m->on != AS_MARK_Y || !isfinite(m->at) || (r->log && !(m->at > 0)))
            continue;
        double x = LEFT + ruler_share(r, m->at) * r->width, half = 3.6 * as_text_columns(label) + 4;
        int    row = 0;
        if (x < LEFT - 1 || x > LEFT + r->width + 1)
            continue;
        while (row < 2 && x - half < ends[row])
            row++;
        ends[row] = x + half;
        as_paint_line(p, x, 18 + 14 * row, x, BOTTOM, "mark");
        as_paint_words(p, x, 13 + 14 * row, "middle", "marktext", label);
    }
}

static void bins_paint(const ruler *r, as_paint *p, const size_t *counts, int n_bins, size_t most)
{
    char    tip[160], a[64], b[64];
    as_axis finer = r->axis; /* bins are narrower than steps */
    finer.decimals++;
    for (int i = 0; i < n_bins; i++) {
        if (!counts[i])
            continue;
        double from = (double)i / n_bins, to = (double)(i + 1) / n_bins, h = (double)counts[i] / (double)most * (BOTTOM - TOP);
        snprintf(tip, sizeof tip, "%zu %s from %s to %s", counts[i], counts[i] == 1 ? "sample" : "samples",
                 as_axis_label(&finer, a, sizeof a, ruler_at(r, from)), as_axis_label(&finer, b, sizeof b, ruler_at(r, to)));
        as_paint_rect(p, LEFT + from * r->width + .5, BOTTOM - h, (to - from) * r->width - 1, h, "c0", tip);
    }
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    ruler                  r;
    char                   words[160];
    const as_chart_series *s = &c->series[0];
    double                 lo, hi;
    size_t                 counts[MAX_BINS] = {0}, most = 1, n_beyond = 0;
    if (!as_range_of(s->y, s->n, &lo, &hi) || !ruler_make(&r, lo, as_far_end(arena, s->y, s->n, hi), c->y[0].unit))
        return "";
    int n_bins = (int)fmin(fmax(2 * sqrt((double)s->n), 8), MAX_BINS);
    for (size_t i = 0; i < s->n; i++) {
        double share = isfinite(s->y[i]) ? ruler_share(&r, s->y[i]) : 2;
        n_beyond += isfinite(s->y[i]) && share > 1;
        if (share > 1)
            continue;
        int bin = share > 0 ? (int)(share * n_bins) : 0;
        bin = bin >= n_bins ? n_bins - 1 : bin;
        most = ++counts[bin] > most ? counts[bin] : most;
    }
    as_paint_chart(&p, arena, BOTTOM + 28, c);
    ruler_paint(&r, &p);
    bins_paint(&r, &p, counts, n_bins, most);
    as_paint_line(&p, LEFT, BOTTOM, LEFT + r.width, BOTTOM, "axis");
    snprintf(words, sizeof words, "%zu", most);
    as_paint_words(&p, LEFT - 8, TOP + 4, "end", "faint", words);
    as_paint_words(&p, LEFT - 8, BOTTOM + 4, "end", "faint", "0");
    marks_paint(&r, &p, c);
    if (n_beyond) {
        snprintf(words, sizeof words, "%zu more, up to %s", n_beyond, as_show_signs(arena, hi, r.unit));
        double h = fmax(fmin((double)n_beyond / (double)most, 1) * (BOTTOM - TOP), 2);
        as_paint_rect(&p, LEFT + r.width + 8, BOTTOM - h, 12, h, "c1", words);
        as_paint_words(&p, LEFT + r.width + 20, TOP - 8, "end", "faint", words);
    }
    return as_paint_close(&p);
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text t = {0};
    as_draw_bins(arena, &t, c->series[0].y, c->series[0].n, c->y[0].unit ? c->y[0].unit : "1", columns);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_histogram = {.name = "histogram", .svg = svg, .text = text};

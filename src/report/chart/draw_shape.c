/* draw_shape.c - "shape": how the values of the first series are distributed, small enough for a tile; no axis but the ends of its range.
 * A mark on y is a line. */
#include <math.h>

#include "base/stats.h"
#include "report/chart/draw.h"

enum { WIDTH = 320, HEIGHT = 44, TOP = 4, N_BINS = 40 };

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    const as_chart_series *s = &c->series[0];
    const char            *unit = c->y[0].unit ? c->y[0].unit : "1";
    double                 lo, hi;
    size_t                 counts[N_BINS] = {0}, most = 1, n_beyond = 0;
    if (!as_range_of(s->y, s->n, &lo, &hi))
        return "";
    double *sorted = AS_TAKE(arena, double, s->n), step = (double)WIDTH / N_BINS;
    size_t  n = 0;
    if (!sorted)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->y[i]))
            sorted[n++] = s->y[i];
    as_sort(sorted, n);
    /* A small picture can show only the body; if the slowest tenth is far out, it is only counted. */
    double high = as_quantile_sorted(sorted, n, .9), end = hi > lo + 2 * (high - lo) && high > lo ? high : hi;
    end = fmin(end, fmax(2 * as_quantile_sorted(sorted, n, .5), lo)); /* on a busy machine that can be far out, too */
    for (size_t i = 0; i < s->n; i++) {
        double share = end > lo ? (s->y[i] - lo) / (end - lo) : .5;
        n_beyond += isfinite(s->y[i]) && share > 1;
        if (!isfinite(s->y[i]) || share > 1)
            continue;
        int bin = share < 1 ? (int)(share * N_BINS) : N_BINS - 1;
        most = ++counts[bin] > most ? counts[bin] : most;
    }
    as_paint_chart_wide(&p, arena, WIDTH, TOP + HEIGHT + 18, c);
    for (int i = 0; i < N_BINS; i++) {
        double h = (double)counts[i] / (double)most * HEIGHT;
        if (counts[i])
            as_paint_rect(&p, i * step + .5, TOP + HEIGHT - fmax(h, 1), step - 1, fmax(h, 1), "c0", NULL);
    }
    as_paint_line(&p, 0, TOP + HEIGHT + .5, WIDTH, TOP + HEIGHT + .5, "axis");
    for (int i = 0; i < c->n_marks; i++) {
        double x = end > lo ? (c->marks[i].at - lo) / (end - lo) * WIDTH : WIDTH / 2.0;
        if (c->marks[i].on == AS_MARK_Y && x >= 0 && x <= WIDTH)
            as_paint_line(&p, x, 0, x, TOP + HEIGHT, "mark");
    }
    as_paint_words(&p, 0, TOP + HEIGHT + 15, "start", "faint", as_show_signs(arena, lo, unit));
    const char *right = n_beyond ? as_arena_printf(arena, "%s, and %zu beyond", as_show_signs(arena, end, unit), n_beyond)
                                 : as_show_signs(arena, end, unit);
    as_paint_words(&p, WIDTH, TOP + HEIGHT + 15, "end", "faint", right ? right : "");
    return as_paint_close(&p);
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text t = {0};
    as_draw_bins(arena, &t, c->series[0].y, c->series[0].n, c->y[0].unit ? c->y[0].unit : "1", columns);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_shape = {.name = "shape", .svg = svg, .text = text};

/* draw_curves.c - "curves": several lines over the same x, each with its name; y may be logarithmic.  A limit on y is a dashed line. */
#include <math.h>

#include "report/chart/draw.h"

enum { LEFT = 70, RIGHT = 30, HEIGHT = 230, TOP = 30, MAX_DOTS = 60, TEXT_COLUMNS = 60, MOST_LINES = 6 };

static double scaled(const as_chart *c, double y) { return c->y[0].log ? (y > 0 ? log10(y) : NAN) : y; }

/* The range of all that can be drawn. */
static bool range_of(const as_chart *c, double *lo, double *hi)
{
    *lo = INFINITY, *hi = -INFINITY;
    for (int k = 0; k < c->n_series; k++)
        for (size_t i = 0; i < c->series[k].n; i++) {
            double y = scaled(c, c->series[k].y[i]);
            if (isfinite(y)) {
                *lo = fmin(*lo, y);
                *hi = fmax(*hi, y);
            }
        }
    if (*hi == *lo && !c->y[0].log) { /* one level: from 0 to twice of it */
        *lo = fmin(0, 2 * *lo);
        *hi = fmax(0, 2 * *hi);
    }
    return *hi >= *lo;
}

static const char *const classes[MOST_LINES] = {"c0", "c1", "c2", "c3", "c4", "c5"};

/* Grid lines at powers of ten, with the halves and fifths between them where there are few. */
static void levels_log(as_paint *p, const as_chart *c, double lo, double hi, double right, double floor_y)
{
    static const double steps[] = {1, 2, 5};
    char                words[40];
    int                 n_steps = hi - lo < 2.5 ? 3 : 1;
    for (int e = (int)floor(lo); e <= (int)ceil(hi); e++)
        for (int k = 0; k < n_steps; k++) {
            double value = steps[k] * pow(10, e), at = log10(value), y = floor_y - (at - lo) / (hi - lo) * HEIGHT;
            if (at < lo || at > hi)
                continue;
            as_paint_line(p, LEFT, y, right, y, "grid");
            as_paint_words(p, LEFT - 6, y + 4, "end", "faint",
                           as_show(words, sizeof words, value, c->y[0].unit ? c->y[0].unit : "1"));
        }
}

static void curve_paint(as_paint *p, as_arena *arena, const as_chart *c, int k, double x_lo, double x_hi, double lo, double hi)
{
    const as_chart_series *s = &c->series[k];
    double                *xy = AS_TAKE(arena, double, 2 * s->n + 2), width = AS_CHART_WIDTH - LEFT - RIGHT;
    int                    n = 0;
    p->text.failed |= !xy;
    for (size_t i = 0; xy && i < s->n; i++) {
        double x = as_point_x(s, i), y = scaled(c, s->y[i]);
        if (!isfinite(x) || !isfinite(y))
            continue;
        xy[2 * n] = LEFT + (x_hi > x_lo ? (x - x_lo) / (x_hi - x_lo) : .5) * width;
        xy[2 * n++ + 1] = TOP + HEIGHT - (hi > lo ? (y - lo) / (hi - lo) : .5) * HEIGHT;
    }
    if (n > 1)
        as_paint_path(p, xy, n, as_tone_stroke(k));
    for (int i = 0; i < n && n <= MAX_DOTS; i++)
        as_paint_dot(p, xy[2 * i], xy[2 * i + 1], 3, classes[k % MOST_LINES], NULL);
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint p;
    as_axis  axis;
    double   lo, hi, x_lo, x_hi, width = AS_CHART_WIDTH - LEFT - RIGHT, floor_y = TOP + HEIGHT, at = LEFT;
    if (!range_of(c, &lo, &hi) || !as_chart_x_range(c, &x_lo, &x_hi))
        return "";
    if (c->y[0].log) {
        double more = fmax((hi - lo) * .04, .02);
        lo -= more, hi += more;
    } else if (as_axis_make(&axis, lo, hi, 4, c->y[0].unit)) {
        lo = axis.lo, hi = axis.hi;
    } else {
        return "";
    }
    as_paint_chart(&p, arena, floor_y + 28, c);
    if (c->y[0].log)
        levels_log(&p, c, lo, hi, LEFT + width, floor_y);
    else
        as_paint_levels(&p, &axis, LEFT, LEFT + width, floor_y, HEIGHT, false);
    as_paint_places(&p, c->x.unit ? c->x.unit : "1", x_lo, x_hi, 6, LEFT, width, floor_y + 18);
    for (int k = 0; k < c->n_series; k++)
        curve_paint(&p, arena, c, k, x_lo, x_hi, lo, hi);
    for (int i = 0; i < c->n_marks; i++) {
        double y = scaled(c, c->marks[i].at);
        if (c->marks[i].on != AS_MARK_Y || !isfinite(y) || y < lo || y > hi || !(hi > lo))
            continue;
        y = floor_y - (y - lo) / (hi - lo) * HEIGHT;
        as_paint_line(&p, LEFT, y, LEFT + width, y, "limit");
        as_paint_words(&p, LEFT + width, y - 4, "end", "faint", c->marks[i].label);
    }
    for (int k = 0; k < c->n_series && c->n_series > 1; k++) { /* the legend */
        const char *label = c->series[k].label ? c->series[k].label : "";
        as_paint_rect(&p, at, 8, 10, 10, classes[k % MOST_LINES], NULL);
        as_paint_words(&p, at + 14, 17, "start", "faint", label);
        at += 34 + 6.6 * as_text_columns(label);
    }
    as_paint_line(&p, LEFT, floor_y, LEFT + width, floor_y, "axis");
    return as_paint_close(&p);
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text     t = {0};
    char        a[64], b[64];
    const char *unit = c->y[0].unit ? c->y[0].unit : "1";
    for (int k = 0; k < c->n_series; k++) {
        double lo, hi;
        if (c->n_series > 1)
            as_text_printf(&t, "%s\n",
                           as_text_cut(arena, as_clean_text(arena, c->series[k].label ? c->series[k].label : ""), columns));
        if (as_draw_spark(arena, &t, c->series[k].y, c->series[k].n, columns < TEXT_COLUMNS ? columns : TEXT_COLUMNS, &lo, &hi))
            as_text_printf(&t, "\nfrom %s to %s\n", as_show(a, sizeof a, lo, unit), as_show(b, sizeof b, hi, unit));
    }
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_curves = {.name = "curves", .svg = svg, .text = text};

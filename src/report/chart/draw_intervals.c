/* draw_intervals.c - "intervals": one row per point, its value with its interval relative to zero; a limit on y is drawn as a
 * band.  Values are shares.  In statistics this is a forest plot. */
#include <math.h>
#include <stdlib.h>

#include "report/chart/draw.h"

enum {
    ROW = 26,
    LABEL_WIDTH = 230,
    LABEL_CHARS = 34,
    WORDS_WIDTH = 200,
    WORDS_CHARS = 30,
    TOP = 8,
    AXIS_ROOM = 30,
    MAX_ROWS = 400,
    TEXT_LABEL = 22,
    TEXT_WORDS = 24,
    MAX_TRACK = 33
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double low_of(const as_chart_series *s, size_t i) { return s->lo && isfinite(s->lo[i]) ? s->lo[i] : s->y[i]; }
static double high_of(const as_chart_series *s, size_t i) { return s->hi && isfinite(s->hi[i]) ? s->hi[i] : s->y[i]; }
static bool   is_bounded(const as_chart_series *s, size_t i) { return s->lo && s->hi && isfinite(s->lo[i]) && isfinite(s->hi[i]); }

/* The range of the rows, without a few outliers that would squeeze all others: at most three times as far as three of four
 * reach. */
static bool range_of(as_arena *arena, const as_chart_series *s, double margin, double *lo, double *hi)
{
    double *reach = AS_TAKE(arena, double, s->n), least = fmax(margin, .002) * 1.3;
    size_t  n_reach = 0;
    *lo = -least, *hi = least;
    for (size_t i = 0; reach && i < s->n; i++) {
        if (!isfinite(s->y[i]))
            continue;
        *lo = fmin(*lo, low_of(s, i)), *hi = fmax(*hi, high_of(s, i));
        reach[n_reach++] = fmax(fabs(low_of(s, i)), fabs(high_of(s, i)));
    }
    if (!n_reach || !isfinite(*hi - *lo))
        return false;
    qsort(reach, n_reach, sizeof *reach, by_value);
    double limit = fmax(3 * reach[(n_reach - 1) * 3 / 4], least);
    *lo = fmax(*lo, -limit), *hi = fmin(*hi, limit);
    return true;
}

static double pinned(const as_axis *axis, double value) { return fmin(fmax(as_axis_share(axis, value), 0), 1); }

static void row_paint(as_paint *p, const as_chart_series *s, size_t i, const as_axis *axis, double y, double left, double width)
{
    const char *tone = as_role_class(as_point_role(s, i)), *name = as_point_name(s, i), *detail = as_point_detail(s, i);
    const char *tip = as_arena_printf(p->arena, "%s: %s%s%s", name, as_point_words(s, i), *detail ? ", " : "", detail);
    double      middle = y + (double)ROW
    *.5;
    as_paint_words(p, left - 12, middle + 4, "end", "text", as_name_cut(p->arena, name, LABEL_CHARS));
    as_paint_words(p, AS_CHART_WIDTH - 2, middle + 4, "end", tone, as_text_cut(p->arena, as_point_words(s, i), WORDS_CHARS));
    if (!isfinite(s->y[i]))
        return;
    if (is_bounded(s, i)) {
        double x0 = left + pinned(axis, s->lo[i]) * width, x1 = left + pinned(axis, s->hi[i]) * width;
        as_paint_rect(p, x0, middle - 3, fmax(x1 - x0, 1.5), 6, tone, tip);
    }
    for (int side = -1; side <= 1; side += 2) { /* an arrow where it extends beyond the axis */
        double end = side > 0 ? fmax(s->y[i], high_of(s, i)) : fmin(s->y[i], low_of(s, i)), x = left + (side > 0 ? width : 0);
        if (side > 0 ? end > axis->hi : end < axis->lo)
            as_paint_area(p, (const double[]){x - 6 * side, middle - 7, x + 6 * side, middle, x - 6 * side, middle + 7}, 3, tone,
                          tip);
    }
    if (s->y[i] >= axis->lo && s->y[i] <= axis->hi)
        as_paint_dot(p, left + as_axis_share(axis, s->y[i]) * width, middle, 5, tone, tip);
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    as_axis                axis;
    char                   label[64];
    const as_chart_series *s = &c->series[0];
    size_t                 n = s->n < MAX_ROWS ? s->n : MAX_ROWS;
    double lo, hi, margin = as_draw_margin(c), left = LABEL_WIDTH, width = AS_CHART_WIDTH - LABEL_WIDTH - WORDS_WIDTH;
    if (!range_of(arena, s, margin, &lo, &hi) || !as_axis_make(&axis, lo, hi, 6, "ratio"))
        return "";
    double bottom = TOP + (double)n * ROW;
    as_paint_chart(&p, arena, bottom + AXIS_ROOM, c);
    if (margin > 0)
        as_paint_rect(&p, left + as_axis_share(&axis, -margin) * width, TOP,
                      (as_axis_share(&axis, margin) - as_axis_share(&axis, -margin)) * width, bottom - TOP, "band", NULL);
    for (double v = axis.lo; v <= axis.hi + axis.step / 2; v += axis.step) {
        double x = left + as_axis_share(&axis, v) * width;
        as_paint_line(&p, x, TOP, x, bottom, "grid");
        as_paint_words(&p, x, bottom + 18, "middle", "faint", as_axis_signed(&axis, label, sizeof label, v));
    }
    double zero = left + as_axis_share(&axis, 0) * width;
    as_paint_line(&p, zero, TOP, zero, bottom, "zero");
    for (size_t i = 0; i < n; i++)
        row_paint(&p, s, i, &axis, TOP + (double)i * ROW, left, width);
    return as_paint_close(&p);
}

static int words_width(as_arena *arena, const as_chart_series *s)
{
    int widest = 0;
    for (size_t i = 0; i < s->n; i++) {
        int width = as_text_columns(as_clean_text(arena, as_point_words(s, i)));
        widest = width > widest ? width : widest;
    }
    return widest < TEXT_WORDS ? widest : TEXT_WORDS;
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    char                   track[MAX_TRACK + 1], ends[2][24];
    const as_chart_series *s = &c->series[0];
    double                 lo, hi, margin = as_draw_margin(c);
    int                    name;
    const char *const     *names = as_draw_names(arena, s, columns < AS_DRAW_COLUMNS ? TEXT_LABEL / 2 : TEXT_LABEL, &name);
    int                    words = words_width(arena, s), n = columns - name - words - 2;
    if (n < 9) /* the track comes first, then the name, then the words */
        words = columns - name - 2 - 9, n = 9;
    n = n > MAX_TRACK ? MAX_TRACK : n;
    if (!names)
        return NULL;
    if (!range_of(arena, s, margin, &lo, &hi))
        return "";
    for (size_t i = 0; i < s->n; i++) {
        as_draw_interval(track, n, s->y[i], s->lo ? s->lo[i] : (double)NAN, s->hi ? s->hi[i] : (double)NAN, margin, lo, hi);
        as_text_pad(&t, names[i], name + 1);
        as_text_printf(&t, "%s %s\n", track, as_text_cut(arena, as_clean_text(arena, as_point_words(s, i)), words));
    }
    as_draw_percent(ends[1], sizeof ends[1], hi);
    as_text_pad(&t, "", name + 1);
    as_text_pad(&t, as_draw_percent(ends[0], sizeof ends[0], lo), n - as_text_columns(ends[1]));
    as_text_printf(&t, "%s\n", ends[1]);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_intervals = {.name = "intervals", .svg = svg, .text = text};

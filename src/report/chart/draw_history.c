/* draw_history.c - "history": values in their order with intervals, the level of each segment, and where it changed.  x is
 * seconds since 1970, but points are evenly spaced: only their order counts.  A mark on x is a step: `at` is the number of the
 * first point after it, `before` and `after` its levels; a muted one went away again. */
#include <math.h>
#include <string.h>

#include "report/chart/draw.h"

enum { LEFT = 70, RIGHT = 64, TOP = 34, HEIGHT = 230, TEXT_LABEL = 10, TEXT_ROWS = 14 };

/* "2026-11-16"; with the minute where all points lie within two days. */
static const char *date_of(char *buf, size_t size, const as_chart_series *s, size_t i)
{
    double when = s->x[i], span = s->x[s->n - 1] - s->x[0];
    return as_date_text(buf, size, isfinite(when) && fabs(when) < 1e12 ? (int64_t)when : 0,
                        fabs(span) < 2 * 86400 ? AS_DATE_MINUTE : AS_DATE_DAY);
}

/* Only steps between two levels within the series. */
static bool is_step(const as_mark *m, const as_chart_series *s)
{
    return m->on == AS_MARK_X && m->at >= 0 && m->at < (double)s->n && m->before > 0 && m->after > 0 && isfinite(m->before) &&
           isfinite(m->after);
}

/* Intervals count only as far as three times the spread of the medians: one bad night must not hide the steps. */
static bool value_range(const as_chart_series *s, double *lo, double *hi)
{
    double low, high;
    if (!as_range_of(s->y, s->n, lo, hi))
        return false;
    double reach = fmax((*hi - *lo) * .3, fabs(*hi) * .005);
    if (s->lo && s->hi && as_range_of(s->lo, s->n, &low, &high))
        *lo = fmin(*lo, fmax(low, *lo - reach));
    if (s->lo && s->hi && as_range_of(s->hi, s->n, &low, &high))
        *hi = fmax(*hi, fmin(high, *hi + reach));
    return true;
}

typedef struct frame {
    as_axis     axis;
    double      step, floor_y;
    const char *unit;
} frame;

static double x_at(const frame *f, double i) { return LEFT + (i + .5) * f->step; }
static double y_at(const frame *f, double v) { return f->floor_y - fmin(fmax(as_axis_share(&f->axis, v), 0), 1) * HEIGHT; }

static void level_paint(as_paint *p, const frame *f, double from, double to, double level, const char *class, bool is_last)
{
    double y = y_at(f, level);
    as_paint_path(p, (const double[]){x_at(f, from - .5), y, x_at(f, to - .5), y}, 2, class);
    if (is_last)
        as_paint_words(p, AS_CHART_WIDTH - RIGHT + 6, y + 4, "start", "text", as_show_signs(p->arena, level, f->unit));
}

/* The level from one change to the next, and a mark where it starts. */
static void segments_paint(as_paint *p, const as_chart *c, const frame *f)
{
    const as_chart_series *s = &c->series[0];
    double                 row_end[2] = {-1, -1};
    bool                   is_first = true;
    for (int i = 0; i < c->n_marks; i++) {
        const as_mark *m = &c->marks[i];
        double         end = (double)s->n, x = x_at(f, m->at - .5);
        bool           away = m->role == AS_CHART_MUTED, known = m->label && strcmp(m->label, "-"); /* its commit */
        if (!is_step(m, s))
            continue;
        for (int k = i + 1; k < c->n_marks && end == (double)s->n; k++)
            end = is_step(&c->marks[k], s) ? c->marks[k].at : end;
        if (is_first)
            level_paint(p, f, 0, m->at, m->before, "s2", false);
        is_first = false;
        level_paint(p, f, m->at, end, m->after, m->after > m->before ? "s1" : "s2", end == (double)s->n);
        as_paint_line(p, x, TOP - 4, x, f->floor_y, away ? "zero" : "mark");
        const char *words = as_arena_printf(p->arena, "%s%s%+.1f %%%s", known ? m->label : "", known ? " " : "",
                                            100 * (m->after / m->before - 1), away ? " (went away)" : "");
        double      half = 3.4 * as_text_columns(words ? words : "");
        int         row = x - half < row_end[0];
        row_end[row] = x + half + 8;
        as_paint_words(p, fmin(fmax(x, LEFT + half), AS_CHART_WIDTH - half), TOP - 10.0 - 13 * row, "middle",
                       away ? "faint" : "marktext", words ? words : "");
    }
}

static void points_paint(as_paint *p, const as_chart_series *s, const frame *f)
{
    char day[AS_DATE_BYTES];
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->y[i]))
            continue;
        double      x = x_at(f, (double)i);
        const char *name = as_point_name(s, i);
        if (s->lo && s->hi && isfinite(s->lo[i]) && isfinite(s->hi[i]))
            as_paint_line(p, x, y_at(f, s->lo[i]), x, y_at(f, s->hi[i]), "s0");
        const char *tip = as_arena_printf(p->arena, "%s%s%s: %s", s->x ? date_of(day, sizeof day, s, i) : "", *name ? " " : "",
                                          name, as_show_signs(p->arena, s->y[i], f->unit));
        as_paint_dot(p, x, y_at(f, s->y[i]), s->n > 200 ? 2 : 3.4, "c0", tip);
    }
}

/* A date where it changes and fits: each day is labelled once, however many points it has. */
static void dates_paint(as_paint *p, const as_chart_series *s, const frame *f)
{
    char   label[AS_DATE_BYTES], last[AS_DATE_BYTES] = "";
    double end = -1e9;
    for (size_t i = 0; i < s->n; i++) {
        const char *date = date_of(label, sizeof label, s, i);
        double      half = 3.7 * as_text_columns(date), x = fmin(fmax(x_at(f, (double)i), half + 2), AS_CHART_WIDTH - half - 2);
        if (!strcmp(date, last) || x - half < end)
            continue;
        as_paint_line(p, x_at(f, (double)i), f->floor_y, x_at(f, (double)i), f->floor_y + 4, "axis");
        as_paint_words(p, x, f->floor_y + 18, "middle", "faint", date);
        snprintf(last, sizeof last, "%s", date);
        end = x + half + 14;
    }
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    const as_chart_series *s = &c->series[0];
    frame                  f = {.floor_y = TOP + HEIGHT, .unit = c->y[0].unit ? c->y[0].unit : "1"};
    double                 lo, hi, width = AS_CHART_WIDTH - LEFT - RIGHT;
    if (!value_range(s, &lo, &hi) || !as_axis_make(&f.axis, lo, hi, 5, c->y[0].unit))
        return "";
    f.step = width / (double)s->n;
    as_paint_chart(&p, arena, f.floor_y + 28, c);
    as_paint_levels(&p, &f.axis, LEFT, LEFT + width, f.floor_y, HEIGHT, false);
    segments_paint(&p, c, &f);
    points_paint(&p, s, &f);
    as_paint_line(&p, LEFT, f.floor_y, LEFT + width, f.floor_y, "axis");
    if (s->x)
        dates_paint(&p, s, &f);
    return as_paint_close(&p);
}

/* --- Characters --------------------------------------------------------------------------------------------- */

/* The segment's level as a line below the points, a mark where it changed. */
static void grid_draw(const as_chart *c, char *grid, int columns, int rows, double lo, double hi)
{
    const as_chart_series *s = &c->series[0];
    for (int k = 0; k < columns; k++) {
        size_t begin = s->n * (size_t)k / (size_t)columns, end = s->n * (size_t)(k + 1) / (size_t)columns;
        double level = NAN;
        bool   changed = false, is_first = true;
        for (int m = 0; m < c->n_marks; m++) {
            const as_mark *mark = &c->marks[m];
            if (!is_step(mark, s))
                continue;
            level = mark->at <= (double)begin ? mark->after : is_first ? mark->before : level;
            changed |= mark->at >= (double)begin && mark->at < (double)end;
            is_first = false;
        }
        if (isfinite(level))
            grid[(rows - 1 - as_draw_place(level, lo, hi, rows)) * columns + k] = '-';
        for (int r = 0; r < rows && changed; r++)
            grid[r * columns + k] = ':';
        for (size_t i = begin; i < end; i++)
            if (isfinite(s->y[i]))
                grid[(rows - 1 - as_draw_place(s->y[i], lo, hi, rows)) * columns + k] = 'o';
    }
}

static void marks_say(as_text *t, const as_chart *c, as_arena *arena, int columns)
{
    for (int i = 0; i < c->n_marks; i++) {
        const as_mark *m = &c->marks[i];
        if (!is_step(m, &c->series[0]))
            continue;
        const char *line =
            as_arena_printf(arena, "%*s: %s %+.1f %% %s", TEXT_LABEL + 1, "",
                            as_text_cut(arena, as_clean_text(arena, m->label ? m->label : ""), 24),
                            100 * (m->after / m->before - 1), m->role == AS_CHART_MUTED ? "(went away)" : "(nominated)");
        as_text_printf(t, "%s\n", as_text_cut(arena, line ? line : "", columns));
    }
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    char                   label[64], other[64];
    double                 lo, hi;
    const as_chart_series *s = &c->series[0];
    const char            *unit = c->y[0].unit ? c->y[0].unit : "1";
    int                    plot = columns - TEXT_LABEL - 3, rows = TEXT_ROWS;
    if (!as_range_of(s->y, s->n, &lo, &hi))
        return "";
    if ((size_t)plot > s->n)
        plot = (int)s->n; /* one column per point */
    if (!(hi > lo))
        lo -= fabs(lo) * .01 + 1e-9, hi += fabs(hi) * .01 + 1e-9;
    char *grid = as_arena_take(arena, (size_t)plot * (size_t)rows, 1, 1);
    if (!grid)
        return NULL;
    memset(grid, ' ', (size_t)plot * (size_t)rows);
    grid_draw(c, grid, plot, rows, lo, hi);
    for (int r = 0; r < rows; r++) {
        bool labelled = r == 0 || r == rows - 1 || r == rows / 2;
        as_text_printf(&t, "%*s | %.*s\n", TEXT_LABEL,
                       labelled ? as_show(label, sizeof label, hi - (hi - lo) * r / (rows - 1), unit) : "", plot, grid + r * plot);
    }
    if (s->x) {
        const char *last = date_of(other, sizeof other, s, s->n - 1);
        int         width = (int)strlen(last);
        as_text_printf(&t, "%*s", TEXT_LABEL + 3, "");
        as_text_pad(&t, date_of(label, sizeof label, s, 0), plot > 2 * width ? plot - width : width + 2);
        as_text_printf(&t, "%s\n", TEXT_LABEL + 3 + 2 * width + 2 <= columns ? last : ""); /* if both do not fit, only the first */
    }
    marks_say(&t, c, arena, columns);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_history = {.name = "history", .svg = svg, .text = text};

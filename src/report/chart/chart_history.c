/* chart_history.c - a case over its runs: medians with intervals, the level of each segment, and where it changed. */
#include <math.h>

#include "report/pick.h"
#include "report/chart/svg.h"

enum { LEFT = 70, RIGHT = 16, TOP = 34, HEIGHT = 230 };

/* Intervals count only as far as three times the spread of the medians: one bad night must not hide the steps. */
static bool value_range(const as_history_picture *h, double *lo, double *hi)
{
    double low, high;
    if (!as_range_of(h->y, h->n, lo, hi))
        return false;
    double reach = fmax((*hi - *lo) * .3, fabs(*hi) * .005);
    if (h->lo && h->hi && as_range_of(h->lo, h->n, &low, &high))
        *lo = fmin(*lo, fmax(low, *lo - reach));
    if (h->lo && h->hi && as_range_of(h->hi, h->n, &low, &high))
        *hi = fmax(*hi, fmin(high, *hi + reach));
    return true;
}

typedef struct frame {
    as_axis axis;
    double  step, floor_y;
} frame;

static double x_at(const frame *f, double i) { return LEFT + (i + .5) * f->step; }
static double y_at(const frame *f, double v) { return f->floor_y - fmin(fmax(as_axis_share(&f->axis, v), 0), 1) * HEIGHT; }

/* The level from one change to the next, and a mark where it starts. */
static void segments_paint(as_paint *p, const as_history_picture *h, const frame *f)
{
    double row_end[2] = {-1, -1};
    for (int i = 0; i < h->n_marks; i++) {
        const as_step_mark *m = &h->marks[i];
        double end = i + 1 < h->n_marks ? (double)h->marks[i + 1].at : (double)h->n, begin = i ? (double)h->marks[i - 1].at : 0,
               x = x_at(f, (double)m->at - .5);
        const char *class = m->went_away ? "zero" : "mark";
        if (i == 0)
            as_paint_path(p, (const double[]){x_at(f, begin - .5), y_at(f, m->before), x, y_at(f, m->before)}, 2, "s2");
        as_paint_path(p, (const double[]){x, y_at(f, m->after), x_at(f, end - .5), y_at(f, m->after)}, 2,
                      m->after > m->before ? "s1" : "s2");
        as_paint_line(p, x, TOP - 4, x, f->floor_y, class);
        const char *words = as_arena_printf(p->arena, "%s %+.1f %%%s", m->label ? m->label : "", 100 * (m->after / m->before - 1),
                                            m->went_away ? " (went away)" : "");
        double      half = 3.4 * as_text_columns(words ? words : "");
        int         row = x - half < row_end[0];
        row_end[row] = x + half + 8;
        as_paint_words(p, fmin(fmax(x, LEFT + half), AS_CHART_WIDTH - RIGHT - half), TOP - 10.0 - 13 * row, "middle",
                       m->went_away ? "faint" : "marktext", words ? words : "");
    }
}

static void points_paint(as_paint *p, const as_history_picture *h, const frame *f)
{
    char day[32];
    for (size_t i = 0; i < h->n; i++) {
        if (!isfinite(h->y[i]))
            continue;
        double x = x_at(f, (double)i);
        if (h->lo && h->hi && isfinite(h->lo[i]) && isfinite(h->hi[i]))
            as_paint_line(p, x, y_at(f, h->lo[i]), x, y_at(f, h->hi[i]), "s0");
        const char *tip = as_arena_printf(p->arena, "%s%s%s: %s", h->x ? as_point_date(day, sizeof day, h, i) : "",
                                          h->labels && h->labels[i] ? " " : "", h->labels && h->labels[i] ? h->labels[i] : "",
                                          as_show_signs(p->arena, h->y[i], h->unit));
        as_paint_dot(p, x, y_at(f, h->y[i]), h->n > 200 ? 2 : 3.4, "c0", tip);
    }
}

const char *as_svg_history(as_arena *arena, const as_history_picture *h, const char *title)
{
    as_paint p;
    frame    f = {.floor_y = TOP + HEIGHT};
    char     label[64];
    double   lo, hi, width = AS_CHART_WIDTH - LEFT - RIGHT;
    if (!value_range(h, &lo, &hi) || !as_axis_make(&f.axis, lo, hi, 5, h->unit))
        return "";
    f.step = width / (double)h->n;
    as_paint_open(&p, arena, f.floor_y + 28, title);
    for (double v = f.axis.lo; v <= f.axis.hi + f.axis.step / 2; v += f.axis.step) {
        as_paint_line(&p, LEFT, y_at(&f, v), LEFT + width, y_at(&f, v), "grid");
        as_paint_words(&p, LEFT - 8, y_at(&f, v) + 4, "end", "faint", as_axis_label(&f.axis, label, sizeof label, v));
    }
    segments_paint(&p, h, &f);
    points_paint(&p, h, &f);
    as_paint_line(&p, LEFT, f.floor_y, LEFT + width, f.floor_y, "axis");
    size_t every = h->n / 7 + 1;
    for (size_t i = 0; h->x && i < h->n; i += every)
        as_paint_words(&p, x_at(&f, (double)i), f.floor_y + 18, i ? "middle" : "start", "faint",
                       as_point_date(label, sizeof label, h, i));
    return as_paint_close(&p);
}

/* draw_usage.c - "usage": what is in use over time, as steps: a level stands until the next change.  The highest point is marked. */
#include <math.h>

#include "report/chart/draw.h"

enum { LEFT = 74, RIGHT = 30, HEIGHT = 190, TOP = 22, TEXT_COLUMNS = 60 };

typedef struct frame {
    double  x_lo, x_hi, width;
    as_axis axis;
} frame;

static double at_x(const frame *f, double x)
{
    return LEFT + (f->x_hi > f->x_lo ? (x - f->x_lo) / (f->x_hi - f->x_lo) : 0.5) * f->width;
}
static double at_y(const frame *f, double y) { return TOP + HEIGHT - as_axis_share(&f->axis, y) * HEIGHT; }

static void point_add(as_paint *p, const char *word, double x, double y)
{
    as_text_add(&p->text, word);
    as_paint_number(p, x);
    as_text_add(&p->text, " ");
    as_paint_number(p, y);
}

static void steps_paint(as_paint *p, const frame *f, const as_chart_series *s, bool filled)
{
    double y = NAN;
    as_text_add(&p->text, filled ? "<path class=\"area\" fill=\"#4263c9\" fill-opacity=\"0.14\" stroke=\"none\" d=\""
                                 : "<path class=\"line\" fill=\"none\" stroke=\"#4263c9\" stroke-width=\"1.4\" d=\"");
    for (size_t i = 0; i < s->n; i++) {
        double x = as_point_x(s, i);
        if (!isfinite(s->y[i]) || !isfinite(x))
            continue;
        if (isnan(y) && filled)
            point_add(p, "M", at_x(f, x), at_y(f, 0));
        if (isnan(y))
            point_add(p, filled ? "L" : "M", at_x(f, x), at_y(f, s->y[i]));
        else {
            point_add(p, "L", at_x(f, x), at_y(f, y));
            point_add(p, "L", at_x(f, x), at_y(f, s->y[i]));
        }
        y = s->y[i];
    }
    if (!isnan(y)) {
        point_add(p, "L", at_x(f, f->x_hi), at_y(f, y));
        if (filled)
            point_add(p, "L", at_x(f, f->x_hi), at_y(f, 0));
    }
    as_text_add(&p->text, filled ? "Z\"/>\n" : "\"/>\n");
}

static size_t highest(const as_chart_series *s)
{
    size_t best = s->n;
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->y[i]) && isfinite(as_point_x(s, i)) && (best == s->n || s->y[i] > s->y[best]))
            best = i;
    return best;
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    frame                  f = {.width = AS_CHART_WIDTH - LEFT - RIGHT};
    const as_chart_series *s = &c->series[0];
    double                 lo, hi, floor_y = TOP + HEIGHT;
    char                   size[32];
    if (!as_range_of(s->y, s->n, &lo, &hi) || !as_chart_x_range(c, &f.x_lo, &f.x_hi) ||
        !as_axis_make(&f.axis, fmin(0, lo), hi > 0 ? hi : 1, 4, c->y[0].unit))
        return "";
    as_paint_chart(&p, arena, floor_y + 28, c);
    as_paint_levels(&p, &f.axis, LEFT, LEFT + f.width, floor_y, HEIGHT, false);
    as_paint_places(&p, s->x ? c->x.unit : "1", f.x_lo, f.x_hi, 6, LEFT, f.width, floor_y + 18);
    steps_paint(&p, &f, s, true);
    steps_paint(&p, &f, s, false);
    size_t top = highest(s);
    if (top < s->n) {
        double x = at_x(&f, as_point_x(s, top)), y = at_y(&f, s->y[top]);
        bool   right = x < LEFT + f.width * 0.7;
        as_paint_line(&p, x, y, x, floor_y, "mark");
        as_paint_dot(&p, x, y, 4, "c1", NULL);
        as_paint_words(&p, x + (right ? 8 : -8), y - 7, right ? "start" : "end", "label",
                       as_arena_printf(arena, "peak %s", as_show(size, sizeof size, s->y[top], c->y[0].unit)));
    }
    as_paint_line(&p, LEFT, floor_y, LEFT + f.width, floor_y, "axis");
    return as_paint_close(&p);
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    char                   a[64], b[64];
    double                 lo, hi;
    const as_chart_series *s = &c->series[0];
    const char            *unit = c->y[0].unit ? c->y[0].unit : "1";
    size_t                 top = highest(s);
    if (as_draw_spark(arena, &t, s->y, s->n, columns < TEXT_COLUMNS ? columns : TEXT_COLUMNS, &lo, &hi) && top < s->n)
        as_text_printf(&t, "\npeak %s at %s\n", as_show(a, sizeof a, s->y[top], unit),
                       as_show(b, sizeof b, as_point_x(s, top), c->x.unit ? c->x.unit : "1"));
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_usage = {.name = "usage", .svg = svg, .text = text};

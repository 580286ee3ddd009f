/* draw_course.c - "course": one series over time, thinned to what the eye can see: no spike is lost. */
#include <math.h>

#include "report/chart/draw.h"

enum { LEFT = 64, RIGHT = 34, HEIGHT = 180, TOP = 12, MAX_DOTS = 2, TEXT_COLUMNS = 60 };

/* One vertical stroke per pixel column, from the smallest to the largest sample in it. */
static void course_paint(as_paint *p, const as_chart_series *s, double x_lo, double x_hi, const as_axis *axis)
{
    double width = AS_CHART_WIDTH - LEFT - RIGHT, floor_y = TOP + HEIGHT, lo = INFINITY, hi = -INFINITY, first = 0, last = 0;
    long   column = -1;
    bool   started = false;
    as_text_add(&p->text,
                "<path class=\"line\" fill=\"none\" stroke=\"#4263c9\" stroke-width=\"1.2\" stroke-linejoin=\"round\" d=\"");
    for (size_t i = 0; i <= s->n; i++) {
        bool ok = i < s->n && isfinite(s->y[i]) && isfinite(as_point_x(s, i));
        long at = ok ? lround((x_hi > x_lo ? (as_point_x(s, i) - x_lo) / (x_hi - x_lo) : .5) * width) : -2;
        if (i < s->n && !ok)
            continue;
        if (at != column && hi >= lo) {
            double points[] = {first, lo, hi, last};
            for (int k = 0; k < 4; k++) {
                if (k && points[k] == points[k - 1])
                    continue;
                as_text_add(&p->text, started ? "L" : "M");
                as_paint_number(p, LEFT + (double)column);
                as_text_add(&p->text, " ");
                as_paint_number(p, floor_y - as_axis_share(axis, points[k]) * HEIGHT);
                started = true;
            }
            lo = INFINITY, hi = -INFINITY;
        }
        if (i == s->n)
            break;
        if (hi < lo)
            first = s->y[i];
        column = at, last = s->y[i], lo = fmin(lo, s->y[i]), hi = fmax(hi, s->y[i]);
    }
    as_text_add(&p->text, "\"/>\n");
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    as_axis                axis;
    const as_chart_series *s = &c->series[0];
    double                 lo, hi, x_lo, x_hi, width = AS_CHART_WIDTH - LEFT - RIGHT, floor_y = TOP + HEIGHT;
    if (!as_range_of(s->y, s->n, &lo, &hi) || !as_chart_x_range(c, &x_lo, &x_hi) || !as_axis_make(&axis, lo, hi, 4, c->y[0].unit))
        return "";
    as_paint_chart(&p, arena, floor_y + 28, c);
    as_paint_levels(&p, &axis, LEFT, LEFT + width, floor_y, HEIGHT, false);
    as_paint_places(&p, s->x ? c->x.unit : "1", x_lo, x_hi, 6, LEFT, width, floor_y + 18);
    course_paint(&p, s, x_lo, x_hi, &axis);
    for (size_t i = 0; i < s->n && s->n <= MAX_DOTS; i++) /* so few points would not make a visible line */
        if (isfinite(s->y[i]) && isfinite(as_point_x(s, i)))
            as_paint_dot(&p, LEFT + (x_hi > x_lo ? (as_point_x(s, i) - x_lo) / (x_hi - x_lo) : .5) * width,
                         floor_y - as_axis_share(&axis, s->y[i]) * HEIGHT, 4, "c0", NULL);
    as_paint_line(&p, LEFT, floor_y, LEFT + width, floor_y, "axis");
    return as_paint_close(&p);
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text     t = {0};
    char        a[64], b[64];
    double      lo, hi;
    const char *unit = c->y[0].unit ? c->y[0].unit : "1";
    if (as_draw_spark(arena, &t, c->series[0].y, c->series[0].n, columns < TEXT_COLUMNS ? columns : TEXT_COLUMNS, &lo, &hi))
        as_text_printf(&t, "\nfrom %s to %s\n", as_show(a, sizeof a, lo, unit), as_show(b, sizeof b, hi, unit));
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_course = {.name = "course", .svg = svg, .text = text};

/* draw_boxes.c - "boxes": where something is and for how long; x is the step, y the place.  One colour per group, named in the
 * legend. */
#include <math.h>

#include "report/chart/draw.h"

enum { LEFT = 76, TOP = 28, HEIGHT = 240, BOTTOM = 40, MAX_BARS = 10 };

static int group_of(const as_chart *c, size_t i)
{
    const as_chart_series *s = &c->series[0];
    return s->groups && s->groups[i] >= 0 && s->groups[i] < c->n_groups ? s->groups[i] : -1;
}

/* Only the groups that occur, in their order. */
static void legend_add(as_paint *p, const as_chart *c)
{
    double x = LEFT;
    for (int g = 0; g < c->n_groups; g++) {
        size_t i = 0;
        while (i < c->series[0].n && group_of(c, i) != g)
            i++;
        if (i == c->series[0].n)
            continue;
        const char *words = as_text_cut(p->arena, c->groups[g], 14);
        as_paint_rect(p, x, 6, 11, 11, as_tone_pale(g), NULL);
        as_paint_words(p, x + 16, 16, "start", "faint", words);
        x += 34 + 7 * as_text_columns(words);
    }
}

static bool bounds_of(const as_chart_series *s, double *x1, double *y1)
{
    *x1 = *y1 = 0;
    if (!s->x || !s->x_end || !s->y_end)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->x[i]) || !isfinite(s->x_end[i]) || !isfinite(s->y[i]) || !isfinite(s->y_end[i]) || s->x[i] < 0 ||
            s->y[i] < 0 || s->x_end[i] < s->x[i] || s->y_end[i] < s->y[i])
            return false;
        *x1 = fmax(*x1, s->x_end[i]);
        *y1 = fmax(*y1, s->y_end[i]);
    }
    return *x1 > 0 && *y1 > 0;
}

static void box_add(as_paint *p, const as_chart *c, size_t i, const as_axis *axis, double x1, double width)
{
    const as_chart_series *s = &c->series[0];
    int                    group = group_of(c, i);
    const char            *unit, *name = as_point_name(s, i);
    double                 amount = as_point_amount(c, s, i, &unit), floor_y = TOP + HEIGHT;
    double                 x = LEFT + s->x[i] / x1 * width, w = (s->x_end[i] - s->x[i]) / x1 * width,
           y = floor_y - as_axis_share(axis, s->y_end[i]) * HEIGHT, h = amount / (axis->hi - axis->lo) * HEIGHT;
    const char *tip = as_arena_printf(p->arena, "%s%s%s, %s", name, group >= 0 ? ", " : "", group >= 0 ? c->groups[group] : "",
                                      as_show_signs(p->arena, amount, unit));
    as_paint_rect(p, x + .5, y, fmax(w - 1, 1), fmax(h - .5, 1), as_tone_pale(group), tip);
    if (h >= 15 && w >= 40)
        as_paint_words(p, x + 6, y + h / 2 + 4, "start", "boxtext", as_text_cut(p->arena, name, (int)(w / 7.5)));
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint p;
    as_axis  axis;
    char     label[64];
    double   x1, y1, width = AS_CHART_WIDTH - LEFT - 10, floor_y = TOP + HEIGHT;
    if (!bounds_of(&c->series[0], &x1, &y1) || !as_axis_make(&axis, 0, y1, 4, c->y[0].unit))
        return "";
    as_paint_chart(&p, arena, TOP + HEIGHT + BOTTOM, c);
    legend_add(&p, c);
    as_paint_levels(&p, &axis, LEFT, LEFT + width, floor_y, HEIGHT, false);
    for (size_t i = 0; i < c->series[0].n; i++)
        box_add(&p, c, i, &axis, x1, width);
    int n_steps = (int)fmin(x1, 1e6), every = n_steps / 12 + 1;
    for (int i = 0; i < n_steps; i += every) {
        snprintf(label, sizeof label, "%d", i);
        as_paint_words(&p, LEFT + (i + .5) / x1 * width, floor_y + 16, "middle", "faint", label);
    }
    as_paint_words(&p, LEFT + width / 2, floor_y + 34, "middle", "faint", c->x.label ? c->x.label : "");
    return as_paint_close(&p);
}

/* In characters a map is unreadable; bars of the largest boxes say more. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    const as_chart_series *s = &c->series[0];
    size_t                 order[MAX_BARS], n = 0;
    const char            *unit;
    for (size_t i = 0; i < s->n; i++) {
        double amount = as_point_amount(c, s, i, &unit);
        size_t at = n;
        if (!(amount > 0) || !isfinite(amount))
            continue;
        while (at > 0 && as_point_amount(c, s, order[at - 1], &unit) < amount) {
            if (at < MAX_BARS)
                order[at] = order[at - 1];
            at--;
        }
        if (at == MAX_BARS)
            continue;
        order[at] = i;
        n += n < MAX_BARS;
    }
    as_draw_bar_rows(arena, &t, c, s, order, n, columns);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_boxes = {.name = "boxes", .svg = svg, .text = text};

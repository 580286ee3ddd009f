/* draw_bars.c - "bars": one bar per point with its name, its amount and its detail.  Negative amounts have no length. */
#include <math.h>

#include "report/chart/draw.h"

enum {
    ROW = 26,
    LABEL_WIDTH = 200,
    LABEL_CHARS = 22,
    VALUE_WIDTH = 84,
    DETAIL_WIDTH = 126,
    DETAIL_CHARS = 17,
    BAR_ROOM = (int)AS_CHART_WIDTH - LABEL_WIDTH - VALUE_WIDTH - DETAIL_WIDTH
};

/* The largest amount.  A muted point is a sum of others and would dwarf them, so it counts only where there is nothing else. */
static double most_of(const as_chart_series *s)
{
    double most = 0, most_muted = 0;
    for (size_t i = 0; i < s->n; i++) {
        double *which = as_point_role(s, i) == AS_CHART_MUTED ? &most_muted : &most;
        *which = fmax(*which, isfinite(s->y[i]) ? s->y[i] : 0);
    }
    return most > 0 ? most : most_muted;
}

/* The label on the left, a pale track, the bar, then columns for the value and the detail.  The tooltip shows everything, uncut. */
static void bar_paint(as_paint *p, const as_chart_series *s, size_t i, const char *name, double y, double share, const char *value)
{
    const char *detail = as_point_detail(s, i);
    as_paint_group(p, as_arena_printf(p->arena, "%s: %s%s%s", as_point_name(s, i), value, *detail ? ", " : "", detail));
    as_paint_words(p, LABEL_WIDTH - 10, y + 17, "end", "text", name);
    if (share <= 1) { /* longer than the scale: a number without a bar */
        as_paint_rect(p, LABEL_WIDTH, y + 4, BAR_ROOM, ROW - 9, "track", NULL);
        as_paint_rect(p, LABEL_WIDTH, y + 4, fmax(share * BAR_ROOM, 1), ROW - 9, as_role_class(as_point_role(s, i)), NULL);
    }
    as_paint_words(p, LABEL_WIDTH + BAR_ROOM + 10, y + 17, "start", "text", value);
    if (*detail)
        as_paint_words(p, AS_CHART_WIDTH - 2, y + 17, "end", "faint", as_text_cut(p->arena, detail, DETAIL_CHARS));
    as_paint_group_end(p);
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    const as_chart_series *s = &c->series[0];
    double                 most = most_of(s);
    const char            *unit = c->y[0].unit ? c->y[0].unit : "1";
    int                    width;
    const char *const     *names = as_draw_names(arena, s, LABEL_CHARS, &width);
    if (!names)
        return NULL;
    if (!(most > 0))
        return "";
    as_paint_chart(&p, arena, 8 + (double)s->n * ROW, c);
    for (size_t i = 0; i < s->n; i++)
        bar_paint(&p, s, i, names[i], 4 + (double)i * ROW, isfinite(s->y[i]) ? fmax(s->y[i], 0) / most : 0,
                  as_show_signs(arena, s->y[i], unit));
    return as_paint_close(&p);
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text t = {0};
    as_draw_bar_rows(arena, &t, c, &c->series[0], NULL, c->series[0].n, columns);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_bars = {.name = "bars", .svg = svg, .text = text};

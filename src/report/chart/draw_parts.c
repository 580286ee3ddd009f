/* draw_parts.c - "parts": one bar of several parts side by side, small enough for a tile; a limit on y is the whole, and the
 * unused rest is an empty track. */
#include <math.h>

#include "report/chart/draw.h"

enum { WIDTH = 320, BAR = 14 };

static double part_of(const as_chart_series *s, size_t i) { return isfinite(s->y[i]) ? fmax(s->y[i], 0) : 0; }

static double whole_of(const as_chart *c)
{
    const as_mark *limit = as_chart_mark(c, AS_MARK_Y, AS_CHART_LIMIT);
    double         sum = 0;
    for (size_t i = 0; i < c->series[0].n; i++)
        sum += part_of(&c->series[0], i);
    return limit && isfinite(limit->at) ? fmax(limit->at, sum) : sum;
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    const as_chart_series *s = &c->series[0];
    const as_mark         *limit = as_chart_mark(c, AS_MARK_Y, AS_CHART_LIMIT);
    double                 whole = whole_of(c), x = 0, words = 0;
    if (!(whole > 0) || !isfinite(whole))
        return "";
    as_paint_chart_wide(&p, arena, WIDTH, BAR + 22, c);
    as_paint_rect(&p, 0, 0, WIDTH, BAR, "track", limit ? limit->label : NULL);
    for (size_t i = 0; i < s->n; i++) {
        const char *unit, *name = as_point_name(s, i);
        double      w = part_of(s, i) / whole * WIDTH;
        const char *tip = as_arena_printf(arena, "%s: %s", name,
                                          as_show_signs(arena, as_point_amount(c, s, i, &unit), c->y[0].unit ? c->y[0].unit : "1"));
        as_paint_rect(&p, x, 0, fmax(w - (i + 1 < s->n), 1), BAR, as_tone_class(i ? (int)i + 4 : 0), tip);
        x += w;
        as_paint_rect(&p, words, BAR + 8, 9, 9, as_tone_class(i ? (int)i + 4 : 0), NULL);
        as_paint_words(&p, words + 14, BAR + 17, "start", "faint", name);
        words += 30 + 6.6 * as_text_columns(name);
    }
    if (limit && limit->label)
        as_paint_words(&p, WIDTH, BAR + 17, "end", "faint", limit->label);
    return as_paint_close(&p);
}

static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text t = {0};
    as_draw_bar_rows(arena, &t, c, &c->series[0], NULL, c->series[0].n, columns);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_parts = {.name = "parts", .svg = svg, .text = text};

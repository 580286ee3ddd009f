/* draw_timeline.c - "timeline": what each thread did, one row per series, a box from x to x_end for each point; one colour per group. */
#include <math.h>

#include "report/chart/draw.h"

enum { LEFT = 150, RIGHT = 14, ROW = 28, BOTTOM = 34, NAME = 20, LEGEND = 34, LEGEND_ROW = 18, MOST_ROWS = 64 };

static bool is_box(const as_chart_series *s, size_t i)
{
    return s->x && s->x_end && isfinite(s->x[i]) && isfinite(s->x_end[i]) && s->x_end[i] >= s->x[i];
}

static int group_of(const as_chart *c, const as_chart_series *s, size_t i)
{
    return s->groups && s->groups[i] >= 0 && s->groups[i] < c->n_groups ? s->groups[i] : -1;
}

static int n_rows(const as_chart *c) { return c->n_series < MOST_ROWS ? c->n_series : MOST_ROWS; }

/* False: there is nothing to draw. */
static bool bounds_of(const as_chart *c, double *lo, double *hi)
{
    *lo = INFINITY, *hi = -INFINITY;
    for (int k = 0; k < n_rows(c); k++)
        for (size_t i = 0; i < c->series[k].n; i++)
            if (is_box(&c->series[k], i)) {
                *lo = fmin(*lo, c->series[k].x[i]);
                *hi = fmax(*hi, c->series[k].x_end[i]);
            }
    return *hi > *lo && isfinite(*hi - *lo);
}

/* As many lines as it needs; where the last one ends.  Without a picture it only measures. */
static double legend_add(as_paint *p, as_arena *arena, const as_chart *c)
{
    double x = LEFT, y = 6;
    for (int g = 0; g < c->n_groups; g++) {
        const char *words = as_text_cut(arena, c->groups[g] ? c->groups[g] : "", LEGEND);
        double      w = 30 + 6.4 * as_text_columns(words);
        if (x > LEFT && x + w > AS_CHART_WIDTH)
            x = LEFT, y += LEGEND_ROW;
        if (p)
            as_paint_rect(p, x, y, 11, 11, as_tone_pale(g), NULL);
        if (p)
            as_paint_words(p, x + 16, y + 10, "start", "faint", words);
        x += w;
    }
    return y + LEGEND_ROW + 6;
}

typedef struct place {
    double      lo, hi, width, top;
    const char *unit;
} place;

/* The short ones after the long ones: a box has a pixel at least, and would be covered by the next one. */
static void boxes_add(as_paint *p, const as_chart *c, const as_chart_series *s, const place *at, bool are_short)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!is_box(s, i))
            continue;
        int    group = group_of(c, s, i);
        double took = s->x_end[i] - s->x[i], x = LEFT + (s->x[i] - at->lo) / (at->hi - at->lo) * at->width;
        double w = took / (at->hi - at->lo) * at->width;
        if ((w < 1) != are_short)
            continue;
        const char *name = group >= 0 ? c->groups[group] : as_point_name(s, i);
        const char *tip = as_arena_printf(p->arena, "%s%s%s", name, *name ? ", " : "", as_show_signs(p->arena, took, at->unit));
        as_paint_rect(p, fmin(x, LEFT + at->width - 1), at->top + 3, fmax(w, 1), ROW - 6, as_tone_pale(group), tip);
    }
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint p;
    place    at = {.width = AS_CHART_WIDTH - LEFT - RIGHT, .unit = c->x.unit ? c->x.unit : "1"};
    if (!bounds_of(c, &at.lo, &at.hi))
        return "";
    double top = legend_add(NULL, arena, c), floor_y = top + (double)n_rows(c) * ROW;
    as_paint_chart(&p, arena, floor_y + BOTTOM, c);
    legend_add(&p, arena, c);
    for (int k = 0; k < n_rows(c); k++) {
        const as_chart_series *s = &c->series[k];
        at.top = top + (double)k * ROW;
        as_paint_words(&p, LEFT - 8, at.top + ROW / 2.0 + 4, "end", "text", as_text_cut(arena, s->label ? s->label : "", NAME));
        as_paint_line(&p, LEFT, at.top + ROW, LEFT + at.width, at.top + ROW, "grid");
        boxes_add(&p, c, s, &at, false);
        boxes_add(&p, c, s, &at, true);
    }
    as_paint_places(&p, at.unit, at.lo, at.hi, 8, LEFT, at.width, floor_y + 18);
    return as_paint_close(&p);
}

/* One line per thread and what it did: a block is as high as its share of that time. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    as_text                  t = {0};
    double                   lo, hi;
    int                      n = columns / 2, name = columns - n - 1;
    double                  *shares = AS_TAKE(arena, double, (size_t)n + 1);
    for (int k = 0; shares && bounds_of(c, &lo, &hi) && k < n_rows(c); k++)
        for (int g = -1; g < c->n_groups; g++) {
            const as_chart_series *s = &c->series[k];
            bool                   any = false;
            for (int i = 0; i < n; i++)
                shares[i] = 0;
            for (size_t i = 0; i < s->n; i++) {
                if (!is_box(s, i) || group_of(c, s, i) != g)
                    continue;
                double from = (s->x[i] - lo) / (hi - lo) * n, to = (s->x_end[i] - lo) / (hi - lo) * n;
                for (int cell = (int)from; cell < n && cell < to; cell++)
                    shares[cell] += fmin(to, cell + 1) - fmax(from, cell);
                any = true;
            }
            if (!any)
                continue;
            const char *label = as_clean_text(arena, s->label ? s->label : "");
            const char *head = g < 0 ? label : as_arena_printf(arena, "%s: %s", label, as_clean_text(arena, c->groups[g]));
            as_text_pad(&t, as_text_cut(arena, head ? head : "", name), name + 1);
            for (int i = 0; i < n; i++)
                as_text_add(&t, blocks[shares[i] > 0 ? (int)fmin(8, ceil(shares[i] * 8)) : 0]);
            as_text_add(&t, "\n");
        }
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_timeline = {.name = "timeline", .svg = svg, .text = text};

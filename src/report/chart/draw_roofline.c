/* draw_roofline.c - "roofline": work rate (y) over intensity (x), both logarithmic, under limits: marks on a slope are bandwidths, the one
 * on y is the work rate that nothing exceeds.  A point's size is its weight. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart/draw.h"

enum {
    MAX_LABELS = 24,
    LEFT = 104,
    RIGHT = 130,
    TOP = 30,
    BOTTOM = 44,
    HEIGHT = 460,
    TEXT_ROWS = 12,
    TEXT_LABEL = 12,
    MAX_LETTERS = 12
};

/* Decades of both axes. */
typedef struct frame {
    double x0, x1, y0, y1; /* log10 */
} frame;

static double at_x(const frame *f, double intensity)
{
    return LEFT + (log10(intensity) - f->x0) / (f->x1 - f->x0) * (AS_CHART_WIDTH - LEFT - RIGHT);
}
static double at_y(const frame *f, double rate)
{
    return HEIGHT - BOTTOM - (log10(rate) - f->y0) / (f->y1 - f->y0) * (HEIGHT - BOTTOM - TOP);
}

static bool is_drawn(const as_chart_series *s, size_t i)
{
    return s->x && s->x[i] > 0 && s->y[i] > 0 && isfinite(s->x[i]) && isfinite(s->y[i]);
}

static bool is_slope(const as_mark *m) { return m->on == AS_MARK_SLOPE && m->lo > 0 && m->hi >= m->lo && isfinite(m->hi); }

static double weight_of(const as_chart_series *s, size_t i)
{
    return s->weight && s->weight[i] > 0 && s->weight[i] <= 1 ? s->weight[i] : 0;
}

/* The limit that is flat; NULL without one, and then there is no roofline. */
static const as_mark *flat_of(const as_chart *c)
{
    const as_mark *m = as_chart_mark(c, AS_MARK_Y, AS_CHART_LIMIT);
    return m && m->lo > 0 && m->hi >= m->lo && isfinite(m->hi) ? m : NULL;
}

static bool frame_make(frame *f, const as_chart *c)
{
    const as_chart_series *s = &c->series[0];
    const as_mark         *flat = flat_of(c);
    double                 low = INFINITY, x_lo = INFINITY, x_hi = 0, ridge = 0;
    for (size_t i = 0; i < s->n; i++)
        if (is_drawn(s, i))
            low = fmin(low, s->y[i]), x_lo = fmin(x_lo, s->x[i]), x_hi = fmax(x_hi, s->x[i]);
    for (int i = 0; flat && i < c->n_marks; i++)
        if (is_slope(&c->marks[i]))
            ridge = fmax(ridge, flat->hi / c->marks[i].lo);
    if (!(x_hi > 0) || !(ridge > 0))
        return false;
    *f = (frame){.x0 = floor(log10(fmin(x_lo, 0.5))),
                 .x1 = ceil(log10(fmax(x_hi, ridge * 2))),
                 .y0 = floor(log10(fmin(low, flat->lo / 100))),
                 .y1 = log10(flat->hi) + 0.25};
    return f->x1 - f->x0 < 40 && f->y1 - f->y0 < 40;
}

static void axes_paint(as_paint *p, const frame *f, const as_chart *c)
{
    char label[64];
    for (double d = f->x0; d <= f->x1 + .01; d++) {
        double x = at_x(f, pow(10, d));
        as_paint_line(p, x, TOP, x, HEIGHT - BOTTOM, "grid");
        snprintf(label, sizeof label, "%g", pow(10, d));
        as_paint_words(p, x, HEIGHT - BOTTOM + 17, "middle", "faint", label);
    }
    for (double d = f->y0; d <= f->y1; d++) {
        double y = at_y(f, pow(10, d));
        as_paint_line(p, LEFT, y, AS_CHART_WIDTH - RIGHT, y, "grid");
        as_paint_words(p, LEFT - 8, y + 4, "end", "faint", as_show_signs(p->arena, pow(10, d), c->y[0].unit ? c->y[0].unit : "1"));
    }
    as_paint_line(p, LEFT, HEIGHT - BOTTOM, AS_CHART_WIDTH - RIGHT, HEIGHT - BOTTOM, "axis");
    as_paint_line(p, LEFT, TOP, LEFT, HEIGHT - BOTTOM, "axis");
    as_paint_words(p, (LEFT + AS_CHART_WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", "faint", c->x.label ? c->x.label : "");
}

/* From the left edge (or the floor) up to the flat roof; a veil, because the points are what counts. */
static void slope_paint(as_paint *p, const frame *f, const as_mark *s, const as_mark *flat, int tone)
{
    double left = pow(10, f->x0), floor_rate = pow(10, f->y0), x_hi = fmax(left, floor_rate / s->hi),
           x_lo = fmax(left, floor_rate / s->lo);
    double xy[] = {at_x(f, x_lo),     at_y(f, s->lo * x_lo),     at_x(f, x_hi),    at_y(f, s->hi * x_hi), at_x(f, flat->hi / s->hi),
                   at_y(f, flat->hi), at_x(f, flat->lo / s->lo), at_y(f, flat->lo)};
    const char *tip = as_arena_printf(p->arena, "%s: %s to %s", s->label ? s->label : "", as_show_signs(p->arena, s->lo, "byte/s"),
                                      as_show_signs(p->arena, s->hi, "byte/s"));
    as_paint_veil(p, xy, 4, as_tone_class(tone), tip);
    as_paint_line(p, xy[2], xy[3], xy[4], xy[5], "edge");
}

/* The names of the slopes stand where these meet the roof, from left to right: there they are apart, while their left ends touch. */
static void slopes_name(as_paint *p, const frame *f, const as_chart *c, const as_mark *flat)
{
    double last = 0, taken = -1e9;
    for (;;) {
        const as_mark *next = NULL;
        for (int i = 0; i < c->n_marks; i++) {
            double ridge = is_slope(&c->marks[i]) ? flat->hi / c->marks[i].hi : 0;
            if (ridge > last && (!next || ridge < flat->hi / next->hi))
                next = &c->marks[i];
        }
        if (!next)
            return;
        const char *label = next->label ? next->label : "";
        double      width = 7.0 * as_text_columns(label), x = fmax(at_x(f, flat->hi / next->hi) - width / 2, taken);
        last = flat->hi / next->hi;
        taken = x + width + 8;
        as_paint_words(p, x, at_y(f, flat->hi) - 8, "start", "faint", label);
    }
}

static void flat_paint(as_paint *p, const frame *f, const as_chart *c, const as_mark *flat, double from)
{
    const char *unit = c->y[0].unit ? c->y[0].unit : "1", *label = flat->label ? flat->label : "";
    double      x0 = at_x(f, from), x1 = AS_CHART_WIDTH - RIGHT, hi = at_y(f, flat->hi), lo = at_y(f, flat->lo);
    const char *tip = as_arena_printf(p->arena, "%s: %s to %s", label, as_show_signs(p->arena, flat->lo, unit),
                                      as_show_signs(p->arena, flat->hi, unit));
    as_paint_rect(p, x0, hi, x1 - x0, fmax(lo - hi, 2), "mark", tip);
    as_paint_words(p, x1 + 6, hi + 4, "start", "marktext", label);
    as_paint_words(p, x1 + 6, hi + 18, "start", "faint", as_show_signs(p->arena, flat->hi, unit));
}

/* Labels of neighbours go below each other. */
typedef struct labels {
    double x0[MAX_LABELS], x1[MAX_LABELS], y[MAX_LABELS];
    int    n;
} labels;

static void label_paint(as_paint *p, labels *l, double x, double y, double radius, const char *text)
{
    double width = 7.0 * as_text_columns(text);
    bool   moved = true;
    if (l->n == MAX_LABELS)
        return;
    x = x + radius + 4 + width > AS_CHART_WIDTH ? x - radius - 4 - width
                                                : x + radius + 4; /* at the edge to the left of its point */
    for (int round = 0; moved && round < MAX_LABELS; round++) {
        moved = false;
        for (int i = 0; i < l->n; i++)
            if (x < l->x1[i] && l->x0[i] < x + width && fabs(y - l->y[i]) < 13) {
                y = l->y[i] + 14;
                moved = true;
            }
    }
    l->x0[l->n] = x, l->x1[l->n] = x + width, l->y[l->n++] = y;
    as_paint_words(p, x, y, "start", "text", text);
}

typedef struct heavy {
    size_t i;
    double weight;
} heavy;

static int by_weight(const void *a, const void *b)
{
    const heavy *x = a, *y = b;
    return x->weight > y->weight ? -1 : x->weight < y->weight ? 1 : x->i < y->i ? -1 : x->i > y->i;
}

/* The points that can be drawn, the heaviest first: they get their names before room runs out. */
static heavy *points_take(as_arena *arena, const as_chart_series *s, size_t *n)
{
    heavy *order = AS_TAKE(arena, heavy, s->n);
    *n = 0;
    for (size_t i = 0; order && i < s->n; i++)
        if (is_drawn(s, i))
            order[(*n)++] = (heavy){i, weight_of(s, i)};
    if (*n)
        qsort(order, *n, sizeof *order, by_weight);
    return order;
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    frame                  f;
    double                 fastest = 0;
    labels                 told = {.n = 0};
    const as_chart_series *s = &c->series[0];
    const as_mark         *flat = flat_of(c);
    size_t                 n;
    if (!frame_make(&f, c))
        return "";
    heavy *order = points_take(arena, s, &n);
    if (!order)
        return NULL;
    as_paint_chart(&p, arena, HEIGHT, c);
    axes_paint(&p, &f, c);
    for (int i = c->n_marks - 1, tone = 1; i >= 0; i--)
        if (is_slope(&c->marks[i])) {
            slope_paint(&p, &f, &c->marks[i], flat, tone++);
            fastest = fmax(fastest, c->marks[i].hi);
        }
    slopes_name(&p, &f, c, flat);
    flat_paint(&p, &f, c, flat, flat->hi / fastest);
    for (size_t k = 0; k < n; k++) {
        size_t      i = order[k].i;
        double      x = at_x(&f, s->x[i]), y = at_y(&f, s->y[i]), radius = 4 + 12 * sqrt(order[k].weight);
        const char *tip = as_arena_printf(arena, "%s: %s", as_point_name(s, i), as_point_detail(s, i));
        as_paint_dot(&p, x, y, radius, "c0", tip);
        label_paint(&p, &told, x, y + 4, radius, as_name_cut(arena, as_point_name(s, i), 28));
    }
    return as_paint_close(&p);
}

/* --- Characters --------------------------------------------------------------------------------------------- */

/* What the limits allow at this intensity: the fastest slope, or the flat roof. */
static double roof_at(const as_chart *c, const as_mark *flat, double intensity)
{
    double best = 0;
    for (int i = 0; i < c->n_marks; i++)
        if (is_slope(&c->marks[i]))
            best = fmax(best, c->marks[i].hi * intensity);
    return fmin(best, flat->hi);
}

/* The upper edge of all limits as a line, points as letters, the heaviest first. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    frame                  f;
    char                   label[64], grid[TEXT_ROWS][AS_DRAW_COLUMNS + 1];
    const as_chart_series *s = &c->series[0];
    const as_mark         *flat = flat_of(c);
    int                    plot = columns - TEXT_LABEL - 3;
    size_t                 n;
    if (!frame_make(&f, c))
        return "";
    heavy *order = points_take(arena, s, &n);
    if (!order)
        return NULL;
    for (int r = 0; r < TEXT_ROWS; r++) {
        memset(grid[r], ' ', (size_t)plot);
        grid[r][plot] = 0;
    }
    for (int k = 0; k < plot; k++) {
        double rate = log10(roof_at(c, flat, pow(10, f.x0 + (f.x1 - f.x0) * k / (plot - 1))));
        if (rate >= f.y0)
            grid[TEXT_ROWS - 1 - as_draw_place(rate, f.y0, f.y1, TEXT_ROWS)][k] = rate < log10(flat->hi) - 1e-9 ? '/' : '-';
    }
    n = n < MAX_LETTERS ? n : MAX_LETTERS;
    for (size_t k = n; k-- > 0;)
        grid[TEXT_ROWS - 1 - as_draw_place(log10(s->y[order[k].i]), f.y0, f.y1, TEXT_ROWS)]
            [as_draw_place(log10(s->x[order[k].i]), f.x0, f.x1, plot)] = (char)('A' + k);
    for (int r = 0; r < TEXT_ROWS; r++)
        as_text_printf(&t, "%*s | %s\n", TEXT_LABEL,
                       r == 0 || r == TEXT_ROWS - 1
                           ? as_show(label, sizeof label, pow(10, r ? f.y0 : f.y1), c->y[0].unit ? c->y[0].unit : "1")
                           : "",
                       grid[r]);
    int begin = snprintf(label, sizeof label, "%g", pow(10, f.x0));
    as_text_printf(&t, "%*s%s%*g %s\n", TEXT_LABEL + 3, "", label, plot - begin - 12, pow(10, f.x1), c->x.unit ? c->x.unit : "");
    for (size_t k = 0; k < n; k++)
        as_text_printf(&t, "%*s%c %s\n", TEXT_LABEL + 3, "", (char)('A' + k), as_draw_name(arena, s, order[k].i, plot - 2));
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_roofline = {.name = "roofline", .svg = svg, .text = text};

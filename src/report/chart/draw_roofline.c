/* draw_roofline.c - "roofline": work rate (y) over intensity (x), both logarithmic, under limits: marks on a slope are
 * bandwidths, the one on y is the highest work rate.  A point's size is its weight. */
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
    MAX_LETTERS = 12,
    LINE = 16,
    MAX_FAR = 60,
    FEW_LABELS = 10 /* in a dense cloud of points */
};

/* Width of a letter in pixels, for the widest font that a page may use. */
#define LETTER 7.4

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

/* The flat limit; NULL: none, and then there is no roofline. */
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

/* From the left edge (or the bottom) up to the flat limit: a line for the best measurement, and a light area down to the lowest,
 * because the points matter most. */
static void slope_paint(as_paint *p, const frame *f, const as_mark *s, const as_mark *flat)
{
    double left = pow(10, f->x0), floor_rate = pow(10, f->y0), x_hi = fmax(left, floor_rate / s->hi),
           x_lo = fmax(left, floor_rate / s->lo);
    double xy[] = {at_x(f, x_lo),     at_y(f, s->lo * x_lo),     at_x(f, x_hi),    at_y(f, s->hi * x_hi), at_x(f, flat->hi / s->hi),
                   at_y(f, flat->hi), at_x(f, flat->lo / s->lo), at_y(f, flat->lo)};
    const char *tip = as_arena_printf(p->arena, "%s: %s to %s", s->label ? s->label : "", as_show_signs(p->arena, s->lo, "byte/s"),
                                      as_show_signs(p->arena, s->hi, "byte/s"));
    as_paint_haze(p, xy, 4, as_tone_class(AS_N_TONES - 1), tip);
    as_paint_line(p, xy[2], xy[3], xy[4], xy[5], "roof");
}

/* What is on the chart already. */
typedef struct box {
    double x0, y0, x1, y1;
} box;
typedef struct taken {
    box   *boxes; /* of the points first, in the order of their weight */
    size_t n, cap;
} taken;

static void taken_add(taken *t, box b)
{
    if (t->n < t->cap)
        t->boxes[t->n++] = b;
}

static bool is_free(const taken *t, const box *b, size_t own)
{
    for (size_t i = 0; i < t->n; i++)
        if (i != own && b->x0 < t->boxes[i].x1 && t->boxes[i].x0 < b->x1 && b->y0 < t->boxes[i].y1 && t->boxes[i].y0 < b->y1)
            return false;
    return true;
}

/* The slopes are named where they meet the flat limit, from left to right: there they are apart, while their left ends touch. */
static void slopes_name(as_paint *p, const frame *f, const as_chart *c, const as_mark *flat, taken *t)
{
    double last = 0, end = -1e9;
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
        double      width = LETTER * as_text_columns(label), x = fmax(at_x(f, flat->hi / next->hi) - width / 2, end);
        last = flat->hi / next->hi;
        end = x + width + 8;
        as_paint_words(p, x, at_y(f, flat->hi) - 8, "start", "faint", label);
        taken_add(t, (box){x, at_y(f, flat->hi) - 20, x + width, at_y(f, flat->hi) - 4});
    }
}

static void flat_paint(as_paint *p, const frame *f, const as_chart *c, const as_mark *flat, double from)
{
    const char *unit = c->y[0].unit ? c->y[0].unit : "1", *label = flat->label ? flat->label : "";
    double      x0 = at_x(f, from), x1 = AS_CHART_WIDTH - RIGHT, hi = at_y(f, flat->hi), lo = at_y(f, flat->lo);
    const char *tip = as_arena_printf(p->arena, "%s: %s to %s", label, as_show_signs(p->arena, flat->lo, unit),
                                      as_show_signs(p->arena, flat->hi, unit));
    as_paint_haze(p, (const double[]){x0, hi, x1, hi, x1, fmax(lo, hi + 2), x0, fmax(lo, hi + 2)}, 4, as_tone_class(AS_N_TONES - 1),
                  tip);
    as_paint_line(p, x0, hi, x1, hi, "roof");
    as_paint_words(p, x1 + 6, hi + 4, "start", "marktext", label);
    as_paint_words(p, x1 + 6, hi + 18, "start", "faint", as_show_signs(p->arena, flat->hi, unit));
}

/* The nearest free place for the name of a point: beside it, then further away with a line to it.  false: none. */
static bool label_place(const taken *t, size_t own, double x, double y, double radius, double width, box *out, double *far)
{
    static const double beside[][2] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {.7, -.7}, {.7, .7}, {-.7, -.7}, {-.7, .7}};
    for (*far = 0; *far<MAX_FAR; *far += *far> 0 ? 14 : 10)
        for (size_t i = 0; i < AS_COUNT(beside); i++) {
            double cx = x + beside[i][0] * (radius + 5 + *far), cy = y + beside[i][1] * (radius + 4 + *far);
            double x0 = beside[i][0] > .1 ? cx : beside[i][0] < -.1 ? cx - width : cx - width / 2;
            double y0 = beside[i][1] > .1 ? cy : beside[i][1] < -.1 ? cy - LINE : cy - LINE
            / 2.0;
            *out = (box) { x0, y0, x0 + width, y0 + LINE };
            if (x0 > LEFT + 2 && x0 + width < AS_CHART_WIDTH - RIGHT && y0 > 2 && y0 + LINE < HEIGHT - BOTTOM - 2 &&
                is_free(t, out, own))
                return true;
        }
    return false;
}

static bool label_paint(as_paint *p, taken *t, size_t own, double x, double y, double radius, const char *text)
{
    box    at;
    double far;
    if (!*text || !label_place(t, own, x, y, radius, LETTER * as_text_columns(text), &at, &far))
        return false;
    if (far > 0)
        as_paint_line(p, x, y, fmin(fmax(x, at.x0), at.x1), fmin(fmax(y, at.y0), at.y1), "lead");
    as_paint_words(p, at.x0, at.y0 + LINE - 4, "start", "label", text);
    taken_add(t, at);
    return true;
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

/* The points that can be drawn, the heaviest first: they get names before the space runs out. */
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

static double radius_of(const heavy *h) { return 4 + 10 * sqrt(h->weight); }

/* The points, the small ones on top, then their names, the heaviest first; a point without space for its name has it in its
 * tooltip and in the table. */
static void points_paint(as_paint *p, const frame *f, const as_chart_series *s, const heavy *order, size_t n, taken *t)
{
    size_t n_named = 0;
    for (size_t k = 0; k < n; k++) {
        size_t      i = order[k].i;
        double      x = at_x(f, s->x[i]), y = at_y(f, s->y[i]), r = radius_of(&order[k]);
        const char *tip = as_arena_printf(p->arena, "%s: %s", as_point_name(s, i), as_point_detail(s, i));
        as_paint_dot(p, x, y, r, "c0", tip);
    }
    for (size_t k = 0; k < n && n_named < (n > MAX_LABELS ? FEW_LABELS : MAX_LABELS); k++) {
        size_t i = order[k].i;
        n_named += label_paint(p, t, k, at_x(f, s->x[i]), at_y(f, s->y[i]), radius_of(&order[k]),
                               as_name_cut(p->arena, as_point_name(s, i), 28));
    }
    if (n_named < n)
        as_paint_words(p, AS_CHART_WIDTH - RIGHT, HEIGHT - 8, "end", "faint",
                       as_arena_printf(p->arena, "%zu of %zu named", n_named, n));
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    frame                  f;
    double                 fastest = 0;
    taken                  t = {.n = 0};
    const as_chart_series *s = &c->series[0];
    const as_mark         *flat = flat_of(c);
    size_t                 n;
    if (!frame_make(&f, c))
        return "";
    heavy *order = points_take(arena, s, &n);
    t.cap = n + MAX_LABELS + (size_t)c->n_marks;
    t.boxes = order ? AS_TAKE(arena, box, t.cap) : NULL;
    if (!t.boxes)
        return NULL;
    for (size_t k = 0; k < n; k++) {
        double x = at_x(&f, s->x[order[k].i]), y = at_y(&f, s->y[order[k].i]), r = radius_of(&order[k]);
        taken_add(&t, (box){x - r, y - r, x + r, y + r});
    }
    as_paint_chart(&p, arena, HEIGHT, c);
    axes_paint(&p, &f, c);
    for (int i = c->n_marks - 1; i >= 0; i--)
        if (is_slope(&c->marks[i])) {
            slope_paint(&p, &f, &c->marks[i], flat);
            fastest = fmax(fastest, c->marks[i].hi);
        }
    slopes_name(&p, &f, c, flat, &t);
    flat_paint(&p, &f, c, flat, flat->hi / fastest);
    points_paint(&p, &f, s, order, n, &t);
    return as_paint_close(&p);
}

/* --- Characters --------------------------------------------------------------------------------------------- */

/* What the limits allow at this intensity: the fastest slope, or the flat limit. */
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

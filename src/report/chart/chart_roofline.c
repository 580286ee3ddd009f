/* chart_roofline.c - work rate over intensity, under the roofs that this machine has. */
#include <math.h>

#include "report/pick.h"
#include "report/chart/svg.h"

enum { MAX_LABELS = 24, LEFT = 104, RIGHT = 130, TOP = 24, BOTTOM = 44, HEIGHT = 460 };

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

static bool is_drawn(const as_roof_point *p)
{
    return p->intensity > 0 && p->rate > 0 && isfinite(p->intensity) && isfinite(p->rate);
}

static bool frame_make(frame *f, const as_roof_band *flat, const as_roof_band *slopes, int n_slopes, const as_roof_point *points,
                       int n)
{
    double low = INFINITY, x_lo = INFINITY, x_hi = 0, ridge = 0;
    int    n_drawn = 0;
    for (int i = 0; i < n; i++)
        if (is_drawn(&points[i])) {
            n_drawn++;
            low = fmin(low, points[i].rate);
            x_lo = fmin(x_lo, points[i].intensity);
            x_hi = fmax(x_hi, points[i].intensity);
        }
    for (int i = 0; i < n_slopes; i++)
        if (slopes[i].lo > 0)
            ridge = fmax(ridge, flat->hi / slopes[i].lo);
    if (!n_drawn || !(flat->lo > 0) || !(flat->hi >= flat->lo) || !isfinite(flat->hi) || !(ridge > 0))
        return false;
    *f = (frame){.x0 = floor(log10(fmin(x_lo, 0.5))),
                 .x1 = ceil(log10(fmax(x_hi, ridge * 2))),
                 .y0 = floor(log10(fmin(low, flat->lo / 100))),
                 .y1 = log10(flat->hi) + 0.25};
    return f->x1 - f->x0 < 40 && f->y1 - f->y0 < 40;
}

static void axes_paint(as_paint *p, const frame *f)
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
        as_paint_words(p, LEFT - 8, y + 4, "end", "faint", as_show_signs(p->arena, pow(10, d), "flop/s"));
    }
    as_paint_line(p, LEFT, HEIGHT - BOTTOM, AS_CHART_WIDTH - RIGHT, HEIGHT - BOTTOM, "axis");
    as_paint_line(p, LEFT, TOP, LEFT, HEIGHT - BOTTOM, "axis");
    as_paint_words(p, (LEFT + AS_CHART_WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", "faint",
                   "intensity: flops for each compulsory byte");
}

/* From the left edge (or the floor) up to the flat roof. */
static void slope_paint(as_paint *p, const frame *f, const as_roof_band *s, const as_roof_band *flat, int tone)
{
    double left = pow(10, f->x0), floor_rate = pow(10, f->y0), x_lo, x_hi;
    if (!(s->lo > 0) || !(s->hi >= s->lo))
        return;
    x_hi = fmax(left, floor_rate / s->hi);
    x_lo = fmax(left, floor_rate / s->lo);
    double xy[] = {at_x(f, x_lo),     at_y(f, s->lo * x_lo),     at_x(f, x_hi),    at_y(f, s->hi * x_hi), at_x(f, flat->hi / s->hi),
                   at_y(f, flat->hi), at_x(f, flat->lo / s->lo), at_y(f, flat->lo)};
    const char *tip = as_arena_printf(p->arena, "%s: %s to %s", s->label, as_show_signs(p->arena, s->lo, "byte/s"),
                                      as_show_signs(p->arena, s->hi, "byte/s"));
    as_paint_area(p, xy, 4, as_tone_class(tone), tip);
    as_paint_line(p, xy[0], xy[1], xy[6], xy[7], "edge");
    as_paint_line(p, xy[2], xy[3], xy[4], xy[5], "edge");
    as_paint_words(p, xy[2] + 6, xy[3] - 6 - 3 * tone, "start", "faint", s->label);
}

static void flat_paint(as_paint *p, const frame *f, const as_roof_band *flat, double from)
{
    double      x0 = at_x(f, from), x1 = AS_CHART_WIDTH - RIGHT, hi = at_y(f, flat->hi), lo = at_y(f, flat->lo);
    const char *tip = as_arena_printf(p->arena, "%s: %s to %s", flat->label, as_show_signs(p->arena, flat->lo, "flop/s"),
                                      as_show_signs(p->arena, flat->hi, "flop/s"));
    as_paint_rect(p, x0, hi, x1 - x0, fmax(lo - hi, 2), "mark", tip);
    as_paint_words(p, x1 + 6, hi + 4, "start", "marktext", flat->label);
    as_paint_words(p, x1 + 6, hi + 18, "start", "faint", as_show_signs(p->arena, flat->hi, "flop/s"));
}

/* Labels of neighbours go below each other. */
typedef struct labels {
    double x0[MAX_LABELS], x1[MAX_LABELS], y[MAX_LABELS];
    int    n;
} labels;

static void label_paint(as_paint *p, labels *l, double x, double y, const char *text)
{
    double width = 7.0 * as_text_columns(text);
    bool   moved = true;
    if (l->n == MAX_LABELS)
        return;
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

const char *as_svg_roofline(as_arena *arena, const as_roof_band *flat, const as_roof_band *slopes, int n_slopes,
                            const as_roof_point *points, int n, const char *title)
{
    as_paint p;
    frame    f;
    double   fastest = 0;
    labels   told = {.n = 0};
    if (!frame_make(&f, flat, slopes, n_slopes, points, n))
        return "";
    as_paint_open(&p, arena, HEIGHT, title);
    axes_paint(&p, &f);
    for (int i = n_slopes - 1; i >= 0; i--) {
        slope_paint(&p, &f, &slopes[i], flat, i + 1);
        fastest = fmax(fastest, slopes[i].hi);
    }
    flat_paint(&p, &f, flat, fastest > 0 ? flat->hi / fastest : pow(10, f.x0));
    for (int i = 0; i < n; i++) {
        if (!is_drawn(&points[i]))
            continue;
        const char *tip = as_arena_printf(arena, "%s: %s", points[i].label, points[i].detail);
        double      weight = points[i].weight > 0 && points[i].weight <= 1 ? points[i].weight : 0;
        as_paint_dot(&p, at_x(&f, points[i].intensity), at_y(&f, points[i].rate), 4 + 12 * sqrt(weight), "c0", tip);
        if (weight >= 0.05) /* the rest is told by hovering */
            label_paint(&p, &told, at_x(&f, points[i].intensity) + 8 + 12 * sqrt(weight), at_y(&f, points[i].rate) + 4,
                        points[i].label);
    }
    return as_paint_close(&p);
}

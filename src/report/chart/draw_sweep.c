/* draw_sweep.c - "sweep": lines over the values of an option, both axes logarithmic, each with the band of its interval; values
 * are ratios to the first line's.  A mark on x is where the winner changes, with its range.  The names of points are those of the
 * values. */
#include <math.h>
#include <string.h>

#include "report/chart/draw.h"

enum { LEFT = 64, RIGHT = 150, TOP = 26, HEIGHT = 260, MAX_POINTS = 128, MAX_LINES = 26, TEXT_NAME = 24, MAX_TRACK = 33 };

typedef struct frame {
    double x_lo, x_hi, y_lo, y_hi;
} frame; /* logarithms */

static double x_at(const frame *f, double x)
{
    return LEFT + fmin(fmax((log(x) - f->x_lo) / (f->x_hi - f->x_lo), 0), 1) * (AS_CHART_WIDTH - LEFT - RIGHT);
}
/* Bounds may be far out: they are cut at the frame. */
static double y_at(const frame *f, double y)
{
    return TOP + HEIGHT - fmin(fmax((log(y) - f->y_lo) / (f->y_hi - f->y_lo), 0), 1) * HEIGHT;
}

static bool is_drawn(const as_chart_series *s, size_t i)
{
    return as_point_x(s, i) > 0 && isfinite(as_point_x(s, i)) && s->y[i] > 0 && isfinite(s->y[i]);
}

static bool frame_make(frame *f, const as_chart *c)
{
    *f = (frame){INFINITY, -INFINITY, log(.97), log(1.03)};
    for (int i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n; k++) {
            const as_chart_series *s = &c->series[i];
            double                 x = log(as_point_x(s, k)), y = log(s->y[k]);
            if (!is_drawn(s, k))
                continue;
            f->x_lo = fmin(f->x_lo, x), f->x_hi = fmax(f->x_hi, x);
            f->y_lo = fmin(f->y_lo, y), f->y_hi = fmax(f->y_hi, y);
            if (s->lo && s->hi && s->lo[k] > s->y[k] / 2 && s->hi[k] < s->y[k] * 2)
                f->y_lo = fmin(f->y_lo, log(s->lo[k])), f->y_hi = fmax(f->y_hi, log(s->hi[k]));
        }
    double room = (f->y_hi - f->y_lo) * .08;
    f->y_lo -= room, f->y_hi += room;
    return f->x_hi > f->x_lo && isfinite(f->x_hi - f->x_lo) && isfinite(f->y_hi - f->y_lo);
}

static void ratio_paint(as_paint *p, const frame *f, double ratio)
{
    char   label[32];
    double y = y_at(f, ratio);
    as_paint_line(p, LEFT, y, AS_CHART_WIDTH - RIGHT, y, fabs(ratio - 1) < 1e-9 ? "zero" : "grid");
    snprintf(label, sizeof label, "%.3g x", ratio);
    as_paint_words(p, LEFT - 8, y + 4, "end", "faint", label);
}

/* Round ratios that fit: 1/8, 1/4, ... or, in a narrow range, even steps. */
static void ratios_paint(as_paint *p, const frame *f)
{
    as_axis axis;
    double  factor = exp(fmax(1, round((f->y_hi - f->y_lo) / log(2.0) / 8)) * log(2.0)); /* eight lines at most, or so */
    if (f->y_hi - f->y_lo > log(3.0)) {
        for (double v = pow(factor, ceil(f->y_lo / log(factor))); v > 0 && log(v) <= f->y_hi; v *= factor)
            ratio_paint(p, f, v);
        return;
    }
    if (as_axis_make(&axis, exp(f->y_lo), exp(f->y_hi), 6, "1"))
        for (double v = axis.lo; v <= axis.hi + axis.step / 2; v += axis.step)
            if (v > exp(f->y_lo) && v < exp(f->y_hi))
                ratio_paint(p, f, v);
}

static void band_paint(as_paint *p, const frame *f, const as_chart_series *s, const size_t *good, int n, int tone)
{
    double band[4 * MAX_POINTS];
    for (int i = 0; i < n; i++) {
        int    mirror = 2 * n - 1 - i;
        double lo = s->lo[good[i]], hi = s->hi[good[i]];
        if (!(lo > 0) || !isfinite(hi) || !(hi >= lo))
            return; /* a band with holes would claim too much */
        band[2 * i] = band[2 * mirror] = x_at(f, as_point_x(s, good[i]));
        band[2 * i + 1] = y_at(f, lo), band[2 * mirror + 1] = y_at(f, hi);
    }
    as_paint_veil(p, band, 2 * n, as_tone_class(tone), NULL);
}

static void line_paint(as_paint *p, const frame *f, const as_chart_series *s, int tone, double *label_y)
{
    double      xy[2 * MAX_POINTS];
    size_t      good[MAX_POINTS];
    int         n = 0;
    const char *label = s->label ? s->label : "";
    for (size_t i = 0; i < s->n && n < MAX_POINTS; i++)
        if (is_drawn(s, i)) {
            xy[2 * n] = x_at(f, as_point_x(s, i)), xy[2 * n + 1] = y_at(f, s->y[i]);
            good[n++] = i;
        }
    if (!n)
        return;
    if (s->lo && s->hi && tone > 0)
        band_paint(p, f, s, good, n, tone);
    as_paint_path(p, xy, n, as_tone_stroke(tone));
    for (int i = 0; i < n; i++)
        as_paint_dot(p, xy[2 * i], xy[2 * i + 1], 4, as_tone_class(tone),
                     as_arena_printf(p->arena, "%s%s%s: %.3g relative to the first", label, *as_point_name(s, good[i]) ? ", " : "",
                                     as_point_name(s, good[i]), s->y[good[i]]));
    *label_y = fmin(xy[2 * n - 1], *label_y - 15); /* labels are painted from the lowest line up */
    as_paint_words(p, AS_CHART_WIDTH - RIGHT + 10, *label_y + 4, "start", as_tone_class(tone), as_name_cut(p->arena, label, 20));
}

static void marks_paint(as_paint *p, const frame *f, const as_chart *c)
{
    char   label[48];
    double last_x = -1e9;
    for (int i = 0; i < c->n_marks; i++) {
        const as_mark *m = &c->marks[i];
        if (m->on != AS_MARK_X || !(m->at > 0) || !isfinite(m->at))
            continue;
        double x = x_at(f, m->at), lo = m->lo > 0 ? x_at(f, m->lo) : x, hi = m->hi > 0 ? x_at(f, m->hi) : x;
        as_paint_rect(p, lo, TOP, hi - lo, HEIGHT, "band", NULL);
        as_paint_line(p, x, TOP, x, TOP + HEIGHT, "mark");
        snprintf(label, sizeof label, "changes at %.3g", m->at);
        if (x > last_x + 90) /* a second one close to it is in the table only */
            as_paint_words(p, x, TOP - 8, "middle", "marktext", label);
        last_x = x > last_x + 90 ? x : last_x;
    }
}

/* Lines from the lowest on the right edge up, so that their labels can move upwards. */
static void order_make(const as_chart *c, int *order)
{
    for (int i = 0; i < c->n_series; i++) {
        int    at = i;
        double last = c->series[i].n ? c->series[i].y[c->series[i].n - 1] : 0;
        while (at > 0 && c->series[order[at - 1]].n && c->series[order[at - 1]].y[c->series[order[at - 1]].n - 1] > last) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    frame                  f;
    char                   label[32];
    double                 label_y = 1e9, last_x = -100;
    const as_chart_series *first = &c->series[0];
    int                   *order = AS_TAKE(arena, int, c->n_series);
    if (!order)
        return NULL;
    if (!frame_make(&f, c))
        return "";
    order_make(c, order);
    as_paint_chart(&p, arena, TOP + HEIGHT + 44, c);
    marks_paint(&p, &f, c);
    ratios_paint(&p, &f);
    for (size_t i = 0; i < first->n; i++) {
        double x = is_drawn(first, i) ? x_at(&f, as_point_x(first, i)) : -1000;
        if (x < last_x + 40)
            continue;
        last_x = x;
        snprintf(label, sizeof label, "%.4g", as_point_x(first, i));
        as_paint_words(&p, x, TOP + HEIGHT + 18, "middle", "faint", label);
    }
    as_paint_words(&p, LEFT + (AS_CHART_WIDTH - LEFT - RIGHT) / 2, TOP + HEIGHT + 38, "middle", "faint",
                   c->x.label ? c->x.label : "");
    for (int i = 0; i < c->n_series; i++)
        line_paint(&p, &f, &c->series[order[i]], order[i], &label_y);
    return as_paint_close(&p);
}

/* One row per value, one letter per line: left is faster. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    char                   track[MAX_TRACK + 1];
    double                 lo = log(.97), hi = log(1.03);
    const as_chart_series *first = &c->series[0];
    int                    n = c->n_series < MAX_LINES ? c->n_series : MAX_LINES, at = 0;
    int                    name;
    const char *const     *names = as_draw_names(arena, first, TEXT_NAME < columns / 2 ? TEXT_NAME : columns / 2, &name);
    int                    width = columns - name - 1 < MAX_TRACK ? columns - name - 1 : MAX_TRACK;
    if (!names)
        return NULL;
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < c->series[i].n; k++)
            if (is_drawn(&c->series[i], k))
                lo = fmin(lo, log(c->series[i].y[k])), hi = fmax(hi, log(c->series[i].y[k]));
    for (size_t k = 0; k < first->n; k++) {
        memset(track, '.', (size_t)width);
        track[width] = 0;
        for (int i = 0; i < n; i++)
            if (k < c->series[i].n && is_drawn(&c->series[i], k)) {
                char *place = &track[as_draw_place(log(c->series[i].y[k]), lo, hi, width)];
                *place = *place == '.' ? (char)('A' + i) : '*';
            }
        as_text_pad(&t, names[k], name + 1);
        as_text_printf(&t, "%s\n", track);
    }
    for (int i = 0; i <= n; i++) { /* the legend, wrapped where needed */
        const char *words =
            i == n ? "left is faster, * both"
                   : as_arena_printf(
                         arena, "%c %s", 'A' + i,
                         as_name_cut(arena, as_clean_text(arena, c->series[i].label ? c->series[i].label : ""), TEXT_NAME));
        int more = as_text_columns(words ? words : "");
        as_text_add(&t, !at ? "" : at + 3 + more > columns ? "\n" : "   ");
        at = at && at + 3 + more <= columns ? at + 3 + more : more;
        as_text_add(&t, words ? words : "");
    }
    as_text_add(&t, "\n");
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_sweep = {.name = "sweep", .svg = svg, .text = text};

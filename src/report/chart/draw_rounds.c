/* draw_rounds.c - "rounds": paired differences, one dot per round, beside their distribution; marks on y are the estimate with
 * its interval (its role is the verdict) and the margin (a limit).  Values are shares. */
#include <math.h>

#include "base/stats.h"
#include "report/chart/draw.h"

enum { LEFT = 64, GAP = 14, SIDE = 120, HEIGHT = 220, TOP = 26, N_BINS = 44, MAX_TRACK = 49 };

typedef struct frame {
    as_axis        axis;
    double         margin, x_lo, x_hi, width, right, floor_y;
    const as_mark *estimate; /* NULL: none */
} frame;

static const as_mark *estimate_of(const as_chart *c)
{
    for (int i = 0; i < c->n_marks; i++)
        if (c->marks[i].on == AS_MARK_Y && c->marks[i].role != AS_CHART_LIMIT && isfinite(c->marks[i].at))
            return &c->marks[i];
    return NULL;
}

/* The range contains the body of the rounds, the interval and the margin; outliers are drawn at the edge. */
static bool range_of(as_arena *arena, const as_chart *c, double *lo, double *hi)
{
    const as_chart_series *s = &c->series[0];
    const as_mark         *m = estimate_of(c);
    double                *sorted = AS_TAKE(arena, double, s->n), margin = as_draw_margin(c);
    size_t                 n = 0;
    for (size_t i = 0; sorted && i < s->n; i++)
        if (isfinite(s->y[i]))
            sorted[n++] = s->y[i];
    if (!n)
        return false;
    as_sort(sorted, n);
    double q1 = as_quantile_sorted(sorted, n, .25), q3 = as_quantile_sorted(sorted, n, .75), reach = 2.5 * (q3 - q1);
    *lo = fmax(sorted[0], q1 - reach), *hi = fmin(sorted[n - 1], q3 + reach);
    const double also[] = {
        0, m ? m->at : 0, m && m->lo < m->hi ? m->lo : 0, m && m->lo < m->hi ? m->hi : 0, -margin * 1.15, margin * 1.15};
    for (size_t i = 0; i < AS_COUNT(also); i++)
        if (isfinite(also[i]))
            *lo = fmin(*lo, also[i]), *hi = fmax(*hi, also[i]);
    return isfinite(*hi - *lo);
}

static double y_at(const frame *f, double value) { return f->floor_y - fmin(fmax(as_axis_share(&f->axis, value), 0), 1) * HEIGHT; }

/* The distribution of the rounds, rotated. */
static void side_paint(as_paint *p, const as_chart_series *s, const frame *f)
{
    size_t counts[N_BINS] = {0}, most = 1;
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->y[i])) {
            int bin = (int)((f->floor_y - y_at(f, s->y[i])) / HEIGHT * N_BINS);
            bin = bin < N_BINS ? bin : N_BINS - 1;
            most = ++counts[bin] > most ? counts[bin] : most;
        }
    for (int i = 0; i < N_BINS; i++)
        if (counts[i])
            as_paint_rect(p, LEFT + f->width + GAP, f->floor_y - (i + 1.0) / N_BINS * HEIGHT + .5,
                          (double)counts[i] / (double)most * SIDE, (double)HEIGHT / N_BINS - 1, "c0", NULL);
}

/* The interval as a transparent area, so that the rounds in it stay visible, and the estimate as a line. */
static void estimate_paint(as_paint *p, const frame *f)
{
    const as_mark *m = f->estimate;
    const char *class = as_role_class(m->role);
    const char *tip = m->lo < m->hi
                          ? as_arena_printf(p->arena, "%+.2f %%, from %+.2f %% to %+.2f %%", 100 * m->at, 100 * m->lo, 100 * m->hi)
                          : as_arena_printf(p->arena, "%+.2f %%", 100 * m->at);
    if (m->lo < m->hi) {
        double y = y_at(f, m->hi), h = fmax(y_at(f, m->lo) - y, 1.5);
        as_paint_veil(p, (const double[]){LEFT, y, f->right, y, f->right, y + h, LEFT, y + h}, 4, class, tip);
    }
    as_paint_rect(p, LEFT, y_at(f, m->at) - .75, f->right - LEFT, 1.5, class, tip);
}

/* The points inside and those at the edge, each as one shape; returns how many are at the edge. */
static size_t dots_paint(as_paint *p, const as_chart_series *s, const frame *f)
{
    double *xy[2] = {AS_TAKE(p->arena, double, 2 * s->n + 2), AS_TAKE(p->arena, double, 2 * s->n + 2)};
    size_t  n[2] = {0, 0};
    p->text.failed |= !xy[0] || !xy[1];
    for (size_t i = 0; xy[0] && xy[1] && i < s->n; i++) {
        double x = as_point_x(s, i);
        bool   out = s->y[i] < f->axis.lo || s->y[i] > f->axis.hi;
        if (!isfinite(s->y[i]) || !isfinite(x))
            continue;
        xy[out][2 * n[out]] = LEFT + (f->x_hi > f->x_lo ? (x - f->x_lo) / (f->x_hi - f->x_lo) : .5) * f->width;
        xy[out][2 * n[out]++ + 1] = y_at(f, s->y[i]);
    }
    as_paint_dots(p, xy[0], n[0], s->n > 400 ? 1.8 : s->n > 30 ? 2.6 : 4, as_tone_stroke(0));
    as_paint_dots(p, xy[1], n[1], 3, as_tone_stroke(1));
    return n[1];
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint               p;
    char                   label[96];
    double                 lo, hi, width = AS_CHART_WIDTH - LEFT - GAP - SIDE - 10;
    const as_chart_series *s = &c->series[0];
    frame                  f = {.margin = as_draw_margin(c),
                                .width = width,
                                .right = LEFT + width + GAP + SIDE,
                                .floor_y = TOP + HEIGHT,
                                .estimate = estimate_of(c)};
    if (!range_of(arena, c, &lo, &hi) || !as_axis_make(&f.axis, lo, hi, 5, "ratio") || !as_chart_x_range(c, &f.x_lo, &f.x_hi))
        return "";
    as_paint_chart(&p, arena, f.floor_y + 28, c);
    as_paint_levels(&p, &f.axis, LEFT, f.right, f.floor_y, HEIGHT, true);
    if (f.estimate)
        estimate_paint(&p, &f);
    size_t n_out = dots_paint(&p, s, &f);
    side_paint(&p, s, &f);
    as_paint_line(&p, LEFT, y_at(&f, 0), f.right, y_at(&f, 0), "zero");
    for (int side = -1; side <= 1 && f.margin > 0; side += 2)
        as_paint_line(&p, LEFT, y_at(&f, side * f.margin), f.right, y_at(&f, side * f.margin), "limit");
    as_paint_places(&p, c->x.unit, f.x_lo, f.x_hi, 6, LEFT, width, f.floor_y + 18);
    snprintf(label, sizeof label, "- - margin %.3g %%", 100 * f.margin);
    if (f.margin > 0) /* above the plot, where no dot and no bar can be */
        as_paint_words(&p, f.right, 14, "end", "marktext", label);
    if (f.estimate) {
        snprintf(label, sizeof label, "%+.2f %%", 100 * f.estimate->at);
        as_paint_words(&p, LEFT, 14, "start", as_role_class(f.estimate->role), label);
    }
    if (n_out) {
        snprintf(label, sizeof label, "%zu %s further out", n_out, n_out == 1 ? "round lies" : "rounds lie");
        as_paint_words(&p, LEFT + 90, 14, "start", "faint", label);
    }
    return as_paint_close(&p);
}

/* The interval relative to zero and the margin, then the distribution of the rounds. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    char                   track[MAX_TRACK + 1], ends[2][24];
    double                 lo, hi;
    const as_mark         *m = estimate_of(c);
    const as_chart_series *s = &c->series[0];
    int                    n = columns - 22 < MAX_TRACK ? columns - 22 : MAX_TRACK;
    if (!range_of(arena, c, &lo, &hi))
        return "";
    if (m) {
        as_draw_interval(track, n, m->at, m->lo < m->hi ? m->lo : (double)NAN, m->lo < m->hi ? m->hi : (double)NAN,
                         as_draw_margin(c), lo, hi);
        as_text_printf(&t, "%10s %s %s\n", as_draw_percent(ends[0], sizeof ends[0], lo), track,
                       as_draw_percent(ends[1], sizeof ends[1], hi));
    }
    as_draw_bins(arena, &t, s->y, s->n, c->y[0].unit ? c->y[0].unit : "1", columns);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_rounds = {.name = "rounds", .svg = svg, .text = text};

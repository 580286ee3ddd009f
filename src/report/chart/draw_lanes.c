/* draw_lanes.c - "lanes": series over the same seconds, one lane below the other, each with its own axis; one dot per point.
 * Outliers are drawn at the edge. */
#include <math.h>

#include "base/stats.h"
#include "report/chart/draw.h"

enum { LEFT = 70, RIGHT = 14, LANE = 84, LANE_GAP = 40, TOP = 2, LEGEND_STEP = 14, TEXT_COLUMNS = 60 };

/* The range of 96 of 100 values, and never less than 4 % of the middle: one pre-empted block must not flatten the rest, and
 * jitter must not look important. */
static bool lane_axis(as_arena *arena, const as_chart *c, int lane, as_axis *axis)
{
    size_t n = 0, total = 0;
    for (int i = 0; i < c->n_series; i++)
        total += c->series[i].lane == lane ? c->series[i].n : 0;
    double *all = AS_TAKE(arena, double, total);
    for (int i = 0; all && i < c->n_series; i++)
        for (size_t k = 0; c->series[i].lane == lane && k < c->series[i].n; k++)
            if (isfinite(c->series[i].y[k]))
                all[n++] = c->series[i].y[k];
    if (!n)
        return false;
    as_sort(all, n);
    double middle = as_quantile_sorted(all, n, .5), lo = fmin(as_quantile_sorted(all, n, .02), middle - fabs(middle) * .02),
           hi = fmax(as_quantile_sorted(all, n, .98), middle + fabs(middle) * .02);
    return isfinite(hi - lo) && as_axis_make(axis, lo, hi, 3, c->y[lane].unit);
}

/* Tone 1 marks points at the edge. */
static int tone_of(const as_chart_series *s)
{
    return s->role == AS_CHART_MUTED ? AS_N_TONES - 1 : s->group > 0 ? s->group + 1 : 0;
}

/* The points inside and those at the edge, each as one shape. */
static void dots_paint(as_paint *p, const as_chart_series *s, const as_axis *axis, double x_lo, double x_hi, double floor_y)
{
    double  width = AS_CHART_WIDTH - LEFT - RIGHT, radius = s->n > 600 ? 1.4 : s->n > 60 ? 2 : 3;
    double *xy[2] = {AS_TAKE(p->arena, double, 2 * s->n + 2), AS_TAKE(p->arena, double, 2 * s->n + 2)};
    size_t  n[2] = {0, 0};
    p->text.failed |= !xy[0] || !xy[1];
    for (size_t i = 0; xy[0] && xy[1] && i < s->n; i++) {
        double share = as_axis_share(axis, s->y[i]), x = as_point_x(s, i);
        bool   out = share < 0 || share > 1;
        if (!isfinite(s->y[i]) || !isfinite(x))
            continue;
        xy[out][2 * n[out]] = LEFT + (x_hi > x_lo ? (x - x_lo) / (x_hi - x_lo) : .5) * width;
        xy[out][2 * n[out]++ + 1] = floor_y - fmin(fmax(share, 0), 1) * LANE;
    }
    as_paint_dots(p, xy[0], n[0], radius, as_tone_stroke(tone_of(s)));
    as_paint_dots(p, xy[1], n[1], 2.6, as_tone_stroke(1));
}

static void lane_paint(as_paint *p, const as_chart *c, int lane, const as_axis *axis, double x_lo, double x_hi, double top)
{
    double      floor_y = top + LANE_GAP - 14 + LANE, x = LEFT;
    const char *label = c->y[lane].label ? c->y[lane].label : "";
    int         n = 0;
    for (int i = 0; i < c->n_series; i++)
        n += c->series[i].lane == lane;
    as_paint_words(p, x, top + LEGEND_STEP, "start", "text", label);
    x += 8.0 * as_text_columns(label) + 16;
    for (int i = 0; i < c->n_series && n > 1; i++) {
        const as_chart_series *s = &c->series[i];
        if (s->lane != lane)
            continue;
        const char *words = as_text_cut(p->arena, s->label ? s->label : "", 24);
        as_paint_rect(p, x, top + LEGEND_STEP - 9, 10, 10, as_tone_class(tone_of(s)), NULL);
        as_paint_words(p, x + 15, top + LEGEND_STEP, "start", "faint", words);
        x += 36 + 7.2 * as_text_columns(words);
    }
    as_paint_levels(p, axis, LEFT, AS_CHART_WIDTH - RIGHT, floor_y, LANE, false);
    for (int i = 0; i < c->n_series; i++)
        if (c->series[i].lane == lane)
            dots_paint(p, &c->series[i], axis, x_lo, x_hi, floor_y);
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint p;
    as_axis  axes[AS_CHART_LANES];
    bool     drawn[AS_CHART_LANES];
    double   x_lo, x_hi, top = TOP;
    int      n_drawn = 0;
    for (int lane = 0; lane < AS_CHART_LANES; lane++)
        n_drawn += drawn[lane] = lane_axis(arena, c, lane, &axes[lane]);
    if (!n_drawn || !as_chart_x_range(c, &x_lo, &x_hi))
        return "";
    double height = TOP + (double)n_drawn * (LANE + LANE_GAP) - 12;
    as_paint_chart(&p, arena, height + 26, c);
    for (int lane = 0; lane < AS_CHART_LANES; lane++) {
        if (!drawn[lane])
            continue;
        lane_paint(&p, c, lane, &axes[lane], x_lo, x_hi, top);
        top += LANE + LANE_GAP;
    }
    as_paint_places(&p, c->x.unit, x_lo, x_hi, 8, LEFT, AS_CHART_WIDTH - LEFT - RIGHT, height + 16);
    return as_paint_close(&p);
}

/* Each series in two lines: its name and range, then its course. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text t = {0};
    for (int i = 0; i < c->n_series; i++) {
        const as_chart_series *s = &c->series[i];
        const char            *unit = c->y[s->lane].unit ? c->y[s->lane].unit : "1", *label = c->y[s->lane].label;
        bool    several = (i && c->series[i - 1].lane == s->lane) || (i + 1 < c->n_series && c->series[i + 1].lane == s->lane);
        as_text line = {0};
        char    a[64], b[64];
        double  lo, hi;
        if (as_draw_spark(arena, &line, s->y, s->n, columns < TEXT_COLUMNS ? columns : TEXT_COLUMNS, &lo, &hi)) {
            const char *head = as_arena_printf(
                arena, "%s%s%s: %s%s%s", as_clean_text(arena, label ? label : ""), several ? ", " : "",
                several ? as_text_cut(arena, as_clean_text(arena, s->label ? s->label : ""), 24) : "",
                as_show(a, sizeof a, lo, unit), hi > lo ? " to " : "", hi > lo ? as_show(b, sizeof b, hi, unit) : "");
            as_text_printf(&t, "%s\n%s\n", as_text_cut(arena, head ? head : "", columns), line.data ? line.data : "");
        }
        t.failed |= line.failed;
        as_text_drop(&line);
    }
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_lanes = {.name = "lanes", .svg = svg, .text = text};

/* chart_noise.c - lanes over the same seconds: what was measured, and what the probes saw meanwhile. */
#include <math.h>

#include "base/stats.h"
#include "report/pick.h"
#include "report/chart/svg.h"

enum { LEFT = 70, RIGHT = 14, LANE = 84, LANE_GAP = 30, TOP = 6, LEGEND_STEP = 14 };

/* Where 96 of 100 lie, and never less than 4 % of the middle: one pre-empted block must not flatten the rest, nor jitter look like news. */
static bool lane_range(as_arena *arena, const as_lane *lane, double *lo, double *hi)
{
    size_t n = 0, total = 0;
    for (int i = 0; i < lane->n_lines; i++)
        total += lane->lines[i].n;
    double *all = AS_TAKE(arena, double, total);
    for (int i = 0; all && i < lane->n_lines; i++)
        for (size_t k = 0; k < lane->lines[i].n; k++)
            if (isfinite(lane->lines[i].y[k]))
                all[n++] = lane->lines[i].y[k];
    if (!n)
        return false;
    as_sort(all, n);
    double middle = as_quantile_sorted(all, n, .5);
    *lo = fmin(as_quantile_sorted(all, n, .02), middle - fabs(middle) * .02);
    *hi = fmax(as_quantile_sorted(all, n, .98), middle + fabs(middle) * .02);
    return isfinite(*hi - *lo);
}

static void dots_paint(as_paint *p, const as_lane_line *line, const as_axis *axis, double x_lo, double x_hi, double floor_y)
{
    double width = AS_CHART_WIDTH - LEFT - RIGHT;
    for (size_t i = 0; i < line->n; i++) {
        if (!isfinite(line->y[i]) || !isfinite(line->x[i]))
            continue;
        double share = as_axis_share(axis, line->y[i]);
        bool   out = share < 0 || share > 1;
        as_paint_dot(p, LEFT + (x_hi > x_lo ? (line->x[i] - x_lo) / (x_hi - x_lo) : .5) * width,
                     floor_y - fmin(fmax(share, 0), 1) * LANE,
                     out             ? 2.6
                     : line->n > 600 ? 1.3
                                     : 1.8,
                     as_tone_class(out ? 1 : line->tone), NULL);
    }
}

static void lane_paint(as_paint *p, const as_lane *lane, const as_axis *axis, double x_lo, double x_hi, double top)
{
    char   label[64];
    double floor_y = top + LANE_GAP - 8 + LANE, right = AS_CHART_WIDTH - RIGHT, x = LEFT;
    as_paint_words(p, x, top + LEGEND_STEP, "start", "text", lane->label);
    x += 8.0 * as_text_columns(lane->label) + 16;
    for (int i = 0; i < lane->n_lines && lane->n_lines > 1; i++) {
        const char *words = as_text_cut(p->arena, lane->lines[i].label, 24);
        as_paint_rect(p, x, top + LEGEND_STEP - 9, 10, 10, as_tone_class(lane->lines[i].tone), NULL);
        as_paint_words(p, x + 15, top + LEGEND_STEP, "start", "faint", words);
        x += 36 + 7.2 * as_text_columns(words);
    }
    for (double v = axis->lo; v <= axis->hi + axis->step / 2; v += axis->step) {
        double y = floor_y - as_axis_share(axis, v) * LANE;
        as_paint_line(p, LEFT, y, right, y, "grid");
        as_paint_words(p, LEFT - 8, y + 4, "end", "faint", as_axis_label(axis, label, sizeof label, v));
    }
    for (int i = 0; i < lane->n_lines; i++)
        dots_paint(p, &lane->lines[i], axis, x_lo, x_hi, floor_y);
}

const char *as_svg_noise(as_arena *arena, const as_lane *lanes, int n, const char *title)
{
    as_paint p;
    as_axis  time, axis;
    char     label[64];
    double   x_lo = INFINITY, x_hi = -INFINITY, lo, hi, width = AS_CHART_WIDTH - LEFT - RIGHT;
    int      n_drawn = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < lanes[i].n_lines; k++)
            if (as_range_of(lanes[i].lines[k].x, lanes[i].lines[k].n, &lo, &hi))
                x_lo = fmin(x_lo, lo), x_hi = fmax(x_hi, hi);
    for (int i = 0; i < n; i++)
        n_drawn += lane_range(arena, &lanes[i], &lo, &hi) && as_axis_make(&axis, lo, hi, 3, lanes[i].unit);
    if (!n_drawn || !isfinite(x_hi - x_lo))
        return "";
    double height = TOP + (double)n_drawn * (LANE + LANE_GAP);
    as_paint_open(&p, arena, height + 24, title);
    double top = TOP;
    for (int i = 0; i < n; i++) {
        if (!lane_range(arena, &lanes[i], &lo, &hi) || !as_axis_make(&axis, lo, hi, 3, lanes[i].unit))
            continue;
        lane_paint(&p, &lanes[i], &axis, x_lo, x_hi, top);
        top += LANE + LANE_GAP;
    }
    if (x_hi > x_lo && as_axis_make(&time, x_lo, x_hi, 8, "s"))
        for (double v = time.lo; v <= time.hi; v += time.step)
            if (v >= x_lo && v <= x_hi)
                as_paint_words(&p, LEFT + (v - x_lo) / (x_hi - x_lo) * width, height + 12, "middle", "faint",
                               as_axis_label(&time, label, sizeof label, v));
    return as_paint_close(&p);
}

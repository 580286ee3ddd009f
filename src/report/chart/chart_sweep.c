/* chart_sweep.c - arms over the values of a sweep: how many times the first one's time each takes, and where they cross. */
#include <math.h>

#include "report/pick.h"
#include "report/chart/svg.h"

enum { LEFT = 64, RIGHT = 150, TOP = 26, HEIGHT = 260, MAX_POINTS = 128 };

typedef struct frame {
    double x_lo, x_hi, y_lo, y_hi;
} frame; /* logarithms */

static double x_at(const frame *f, double x)
{
    return LEFT + (log(x) - f->x_lo) / (f->x_hi - f->x_lo) * (AS_CHART_WIDTH - LEFT - RIGHT);
}
/* Bounds may lie far out: they end at the frame. */
static double y_at(const frame *f, double y)
{
    return TOP + HEIGHT - fmin(fmax((log(y) - f->y_lo) / (f->y_hi - f->y_lo), 0), 1) * HEIGHT;
}

static bool frame_make(frame *f, const as_sweep_line *lines, int n)
{
    *f = (frame){INFINITY, -INFINITY, log(.97), log(1.03)};
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < lines[i].n; k++) {
            if (!(lines[i].x[k] > 0) || !(lines[i].y[k] > 0) || !isfinite(lines[i].x[k]) || !isfinite(lines[i].y[k]))
                continue;
            f->x_lo = fmin(f->x_lo, log(lines[i].x[k])), f->x_hi = fmax(f->x_hi, log(lines[i].x[k]));
            f->y_lo = fmin(f->y_lo, log(lines[i].y[k])), f->y_hi = fmax(f->y_hi, log(lines[i].y[k]));
            if (lines[i].lo && lines[i].hi && lines[i].lo[k] > lines[i].y[k] / 2 && lines[i].hi[k] < lines[i].y[k] * 2)
                f->y_lo = fmin(f->y_lo, log(lines[i].lo[k])), f->y_hi = fmax(f->y_hi, log(lines[i].hi[k]));
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
        for (double v = pow(factor, ceil(f->y_lo / log(factor))); v <= exp(f->y_hi); v *= factor)
            ratio_paint(p, f, v);
        return;
    }
    if (as_axis_make(&axis, exp(f->y_lo), exp(f->y_hi), 6, "1"))
        for (double v = axis.lo; v <= axis.hi + axis.step / 2; v += axis.step)
            if (v > exp(f->y_lo) && v < exp(f->y_hi))
                ratio_paint(p, f, v);
}

static void line_paint(as_paint *p, const frame *f, const as_sweep_line *line, int tone, double *label_y)
{
    double xy[2 * MAX_POINTS], band[4 * MAX_POINTS];
    size_t n = line->n < MAX_POINTS ? line->n : MAX_POINTS;
    int    n_good = 0;
    bool   bounded = line->lo && line->hi;
    for (size_t i = 0; i < n; i++) {
        if (!(line->x[i] > 0) || !(line->y[i] > 0) || !isfinite(line->y[i]))
            continue;
        xy[2 * n_good] = x_at(f, line->x[i]), xy[2 * n_good + 1] = y_at(f, line->y[i]);
        bounded = bounded && line->lo[i] > 0 && isfinite(line->hi[i]);
        n_good++;
    }
    for (int i = 0, good = 0; bounded && i < (int)n; i++)
        if (line->x[i] > 0 && line->y[i] > 0 && isfinite(line->y[i])) {
            int mirror = 2 * n_good - 1 - good;
            band[2 * good] = band[2 * mirror] = x_at(f, line->x[i]);
            band[2 * good + 1] = y_at(f, line->lo[i]), band[2 * mirror + 1] = y_at(f, line->hi[i]);
            good++;
        }
    if (!n_good)
        return;
    if (bounded && tone > 0)
        as_paint_veil(p, band, 2 * n_good, as_tone_class(tone), NULL);
    as_paint_path(p, xy, n_good, as_tone_stroke(tone));
    for (int i = 0; i < n_good; i++)
        as_paint_dot(p, xy[2 * i], xy[2 * i + 1], 4, as_tone_class(tone), line->label);
    *label_y = fmin(xy[2 * n_good - 1], *label_y - 15); /* labels are painted from the lowest line up */
    as_paint_words(p, AS_CHART_WIDTH - RIGHT + 10, *label_y + 4, "start", as_tone_class(tone),
                   as_name_cut(p->arena, line->label, 20));
}

static void marks_paint(as_paint *p, const frame *f, const as_sweep_mark *marks, int n)
{
    char label[48];
    for (int i = 0; i < n; i++) {
        if (!(marks[i].at > 0))
            continue;
        double x = x_at(f, marks[i].at), lo = marks[i].lo > 0 ? x_at(f, marks[i].lo) : x,
               hi = marks[i].hi > 0 ? x_at(f, marks[i].hi) : x;
        as_paint_rect(p, lo, TOP, hi - lo, HEIGHT, "band", NULL);
        as_paint_line(p, x, TOP, x, TOP + HEIGHT, "mark");
        snprintf(label, sizeof label, "flips at %.3g", marks[i].at);
        as_paint_words(p, x, TOP - 8, "middle", "marktext", label);
    }
}

/* Lines from the lowest on the right edge up, so that their labels can give way upwards. */
static void order_make(const as_sweep_line *lines, int n, int *order)
{
    for (int i = 0; i < n; i++) {
        int    at = i;
        double last = lines[i].n ? lines[i].y[lines[i].n - 1] : 0;
        while (at > 0 && lines[order[at - 1]].n && lines[order[at - 1]].y[lines[order[at - 1]].n - 1] > last) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

const char *as_svg_sweep(as_arena *arena, const as_sweep_line *lines, int n, const as_sweep_mark *marks, int n_marks,
                         const char *x_label, const char *title)
{
    as_paint p;
    frame    f;
    char     label[32];
    double   label_y = 1e9, last_x = -100;
    int     *order = AS_TAKE(arena, int, n);
    if (!order || n < 1 || !frame_make(&f, lines, n))
        return "";
    order_make(lines, n, order);
    as_paint_open(&p, arena, TOP + HEIGHT + 44, title);
    marks_paint(&p, &f, marks, n_marks);
    ratios_paint(&p, &f);
    for (size_t i = 0; i < lines[0].n; i++) {
        double x = lines[0].x[i] > 0 ? x_at(&f, lines[0].x[i]) : -1;
        if (x < last_x + 40)
            continue;
        last_x = x;
        snprintf(label, sizeof label, "%.4g", lines[0].x[i]);
        as_paint_words(&p, x, TOP + HEIGHT + 18, "middle", "faint", label);
    }
    as_paint_words(&p, LEFT + (AS_CHART_WIDTH - LEFT - RIGHT) / 2, TOP + HEIGHT + 38, "middle", "faint", x_label);
    for (int i = 0; i < n; i++)
        line_paint(&p, &f, &lines[order[i]], order[i], &label_y);
    return as_paint_close(&p);
}

/* draw.c - passes a chart to the drawing of its kind; code that drawings share. */
#include "report/chart/draw.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"

static const as_drawing *drawing_of(const as_chart *c)
{
    for (const as_drawing *const *d = as_draw_table; *d; d++)
        if (!strcmp((*d)->name, c->kind))
            return *d;
    return NULL;
}

const char *as_chart_svg(as_arena *arena, const as_chart *c)
{
    const as_drawing *d = drawing_of(c);
    return d && !as_chart_empty(c) ? d->svg(arena, c) : "";
}

const char *as_chart_text(as_arena *arena, const as_chart *c, int columns)
{
    const as_drawing *d = drawing_of(c);
    columns = columns > AS_DRAW_COLUMNS ? AS_DRAW_COLUMNS : columns < AS_DRAW_LEAST_COLUMNS ? AS_DRAW_LEAST_COLUMNS : columns;
    return d && !as_chart_empty(c) ? d->text(arena, c, columns) : "";
}

/* --- SVG ---------------------------------------------------------------------------------------------------- */

void as_paint_chart(as_paint *p, as_arena *arena, double height, const as_chart *c)
{
    as_paint_chart_wide(p, arena, AS_CHART_WIDTH, height, c);
}

void as_paint_chart_wide(as_paint *p, as_arena *arena, double width, double height, const as_chart *c)
{
    const char *alt = as_chart_alt(arena, c);
    as_paint_open_wide(p, arena, width, height, c->title ? c->title : "");
    p->text.failed |= !alt;
    as_text_printf(&p->text, "<desc>%s</desc>\n", as_escape_html(arena, alt ? alt : ""));
}

const char *as_role_class(as_chart_role role)
{
    static const char *const classes[] = {
        [AS_CHART_MAIN] = "c0",   [AS_CHART_MUTED] = "c6",  [AS_CHART_LIMIT] = "band", [AS_CHART_NOTE] = "note",
        [AS_CHART_GOOD] = "good", [AS_CHART_WARN] = "warn", [AS_CHART_BAD] = "bad"};
    return (unsigned)role < AS_COUNT(classes) ? classes[role] : "c0";
}

bool as_chart_x_range(const as_chart *c, double *lo, double *hi)
{
    double low = 0, high = 0;
    *lo = INFINITY, *hi = -INFINITY;
    for (int i = 0; i < c->n_series; i++) {
        const as_chart_series *s = &c->series[i];
        if (s->x ? as_range_of(s->x, s->n, &low, &high) : s->n > 0)
            *lo = fmin(*lo, low), *hi = fmax(*hi, s->x ? high : (double)(s->n - 1));
    }
    return *hi >= *lo && isfinite(*hi - *lo);
}

double as_draw_margin(const as_chart *c)
{
    const as_mark *m = as_chart_mark(c, AS_MARK_Y, AS_CHART_LIMIT);
    return m && isfinite(m->hi) && m->hi > 0 ? m->hi : 0;
}

const char *as_axis_signed(const as_axis *axis, char *buf, size_t size, double value)
{
    char plain[48];
    as_axis_label(axis, plain, sizeof plain, value);
    snprintf(buf, size, "%s%s", value > axis->step / 2 ? "+" : "", plain);
    return buf;
}

void as_paint_levels(as_paint *p, const as_axis *axis, double left, double right, double floor_y, double height, bool is_signed)
{
    char label[64];
    for (double v = axis->lo; v <= axis->hi + axis->step / 2; v += axis->step) {
        double y = floor_y - as_axis_share(axis, v) * height;
        as_paint_line(p, left, y, right, y, "grid");
        as_paint_words(p, left - 8, y + 4, "end", "faint",
                       is_signed ? as_axis_signed(axis, label, sizeof label, v) : as_axis_label(axis, label, sizeof label, v));
    }
}

void as_paint_places(as_paint *p, const char *unit, double lo, double hi, int n_ticks, double left, double width, double y)
{
    as_axis axis;
    char    label[64];
    if (!(hi > lo) || !as_axis_make(&axis, lo, hi, n_ticks, unit))
        return;
    double end = -1e9;
    for (double v = axis.lo; v <= axis.hi; v += axis.step) {
        const char *words = as_axis_label(&axis, label, sizeof label, v);
        double      half = 3.7 * as_text_columns(words), x = fmin(left + (v - lo) / (hi - lo) * width, AS_CHART_WIDTH - half - 1);
        if (v < lo || v > hi || x - half < end) /* labels must not overlap each other or the edge */
            continue;
        as_paint_words(p, x, y, "middle", "faint", words);
        end = x + half + 6;
    }
}

/* --- Characters --------------------------------------------------------------------------------------------- */

enum { N_BINS = 12, BIN_LABEL = 10, MAX_BAR = 32, MAX_NAME = 24, VALUE = 12 };

const char *as_draw_name(as_arena *arena, const as_chart_series *s, size_t i, int columns)
{
    return as_name_cut(arena, as_clean_text(arena, as_point_name(s, i)), columns);
}

const char *const *as_draw_names(as_arena *arena, const as_chart_series *s, int most, int *width)
{
    const char **names = AS_TAKE(arena, const char *, s->n);
    *width = 1;
    for (size_t i = 0; names && i < s->n; i++)
        names[i] = as_clean_text(arena, as_point_name(s, i));
    if (!names || !as_names_fit(arena, names, s->n, most, names))
        return NULL;
    for (size_t i = 0; i < s->n; i++) {
        int columns = as_text_columns(names[i]);
        *width = columns > *width ? columns : *width;
    }
    return names;
}

void as_draw_bar(as_text *t, double share, int columns)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int n = isfinite(share) ? (int)lround(fmin(fmax(share, 0), 1) * columns * 8) : 0, used = n / 8 + (n % 8 > 0);
    for (int i = 0; i < n / 8; i++)
        as_text_add(t, "█");
    as_text_add(t, eighths[n % 8]);
    for (; used < columns; used++)
        as_text_add(t, " ");
}

void as_draw_bar_rows(as_arena *arena, as_text *t, const as_chart *c, const as_chart_series *s, const size_t *order, size_t n,
                      int columns)
{
    const char        *unit;
    double             most = 0;
    int                widest, limit = MAX_NAME < columns / 2 ? MAX_NAME : columns / 2;
    const char *const *names = as_draw_names(arena, s, limit, &widest);
    t->failed |= !names;
    for (size_t i = 0; i < n; i++) {
        double amount = as_point_amount(c, s, order ? order[i] : i, &unit);
        most = fmax(most, isfinite(amount) ? amount : 0);
    }
    int bar = columns - widest - 2 - VALUE;
    bar = bar > MAX_BAR ? MAX_BAR : bar < 1 ? 1 : bar;
    for (size_t i = 0; names && i < n && most > 0; i++) {
        char   number[64];
        double amount = as_point_amount(c, s, order ? order[i] : i, &unit);
        as_text_pad(t, names[order ? order[i] : i], widest + 1);
        as_draw_bar(t, amount / most, bar);
        as_text_printf(t, " %s\n", as_show(number, sizeof number, amount, unit));
    }
}

int as_draw_place(double value, double lo, double hi, int n)
{
    double share = hi > lo ? (value - lo) / (hi - lo) : .5;
    return isfinite(share) ? (int)lround(fmin(fmax(share, 0), 1) * (n - 1)) : share > 0 ? n - 1 : 0;
}

void as_draw_interval(char *track, int n, double value, double low, double high, double margin, double lo, double hi)
{
    memset(track, ' ', (size_t)n);
    track[n] = 0;
    if (margin > 0)
        track[as_draw_place(-margin, lo, hi, n)] = track[as_draw_place(margin, lo, hi, n)] = ':';
    track[as_draw_place(0, lo, hi, n)] = '|';
    if (!isfinite(value))
        return;
    if (isfinite(low) && isfinite(high) && low <= high) {
        int from = as_draw_place(low, lo, hi, n), to = as_draw_place(high, lo, hi, n);
        for (int i = from; i <= to; i++)
            track[i] = '-';
        track[from] = low < lo ? '<' : '[', track[to] = high > hi ? '>' : ']';
    }
    track[as_draw_place(value, lo, hi, n)] = value < lo ? '<' : value > hi ? '>' : 'o';
}

const char *as_draw_percent(char *buf, size_t size, double share)
{
    snprintf(buf, size, fabs(share) < 1e3 ? "%+.1f %%" : "%+.0e %%", 100 * share);
    return buf;
}

double as_far_end(as_arena *arena, const double *x, size_t n, double hi)
{
    double *sorted = AS_TAKE(arena, double, n);
    size_t  n_finite = 0;
    for (size_t i = 0; sorted && i < n; i++)
        if (isfinite(x[i]))
            sorted[n_finite++] = x[i];
    if (n_finite < 20)
        return hi;
    as_sort(sorted, n_finite);
    double middle = as_quantile_sorted(sorted, n_finite, .5), high = as_quantile_sorted(sorted, n_finite, .9);
    double end = middle + 5 * (high - middle);
    return high > middle && end < hi ? end : hi;
}

static void bin_add(as_arena *arena, as_text *t, const char *label, size_t count, size_t most, int bar)
{
    for (int pad = as_text_columns(label); pad < BIN_LABEL; pad++)
        as_text_add(t, " ");
    as_text_printf(t, "%s ", as_text_cut(arena, label, BIN_LABEL));
    as_draw_bar(t, (double)count / (double)most, bar);
    as_text_printf(t, " %zu\n", count);
}

void as_draw_bins(as_arena *arena, as_text *t, const double *x, size_t n, const char *unit, int columns)
{
    char   number[64];
    size_t counts[N_BINS] = {0}, most = 1, n_beyond = 0;
    double lo, hi;
    int    bar = columns - BIN_LABEL - 2 - 8;
    bar = bar > MAX_BAR ? MAX_BAR : bar;
    if (!as_range_of(x, n, &lo, &hi))
        return;
    double end = as_far_end(arena, x, n, hi);
    for (size_t i = 0; i < n; i++) {
        if (isfinite(x[i]) && x[i] <= end) {
            double share = end > lo ? (x[i] - lo) / (end - lo) : 0;
            size_t bin = share < 1 ? (size_t)(share * N_BINS) : N_BINS - 1;
            most = ++counts[bin] > most ? counts[bin] : most;
        }
        n_beyond += isfinite(x[i]) && x[i] > end;
    }
    for (int i = 0; i < (end > lo ? N_BINS : 1); i++)
        bin_add(arena, t, as_show(number, sizeof number, lo + (end - lo) * i / N_BINS, unit), counts[i], most, bar);
    if (n_beyond)
        as_text_printf(t, "    %zu more, up to %s\n", n_beyond, as_show(number, sizeof number, hi, unit));
}

bool as_draw_spark(as_arena *arena, as_text *t, const double *y, size_t n, int columns, double *lo, double *hi)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t                   n_blocks = n < (size_t)columns ? n : (size_t)columns;
    double                   medians[AS_DRAW_COLUMNS];
    double                  *scratch = AS_TAKE(arena, double, n);
    t->failed |= !scratch;
    for (size_t i = 0; scratch && i < n_blocks; i++) {
        size_t begin = n * i / n_blocks, end = n * (i + 1) / n_blocks;
        medians[i] = as_median(y + begin, end - begin, scratch);
    }
    if (!scratch || !as_range_of(medians, n_blocks, lo, hi))
        return false;
    for (size_t i = 0; i < n_blocks; i++) {
        double share = *hi > *lo && isfinite(medians[i]) ? (medians[i] - *lo) / (*hi - *lo) : 0;
        as_text_add(t, isfinite(medians[i]) ? heights[(int)fmin(share * 8, 7)] : " ");
    }
    return true;
}

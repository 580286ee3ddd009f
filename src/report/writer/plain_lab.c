/* plain_lab.c - comparisons, histories and sweeps in characters. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/pick.h"
#include "report/chart/svg.h"

enum { LABEL_COLUMNS = 24, TRACK = 33, MAX_TRACK = 120, MAX_ROWS = 40 };

/* --- Forest ------------------------------------------------------------------------------------------------- */

static int place(double value, double lo, double hi, int n)
{
    double share = (value - lo) / (hi - lo);
    return (int)lround(fmin(fmax(share, 0), 1) * (n - 1));
}

static void interval_draw(char *track, const as_forest_row *r, double margin, double lo, double hi)
{
    memset(track, ' ', TRACK);
    track[TRACK] = 0;
    if (margin > 0)
        track[place(-margin, lo, hi, TRACK)] = track[place(margin, lo, hi, TRACK)] = ':';
    track[place(0, lo, hi, TRACK)] = '|';
    if (!isfinite(r->value))
        return;
    if (isfinite(r->lo) && isfinite(r->hi)) {
        int from = place(r->lo, lo, hi, TRACK), to = place(r->hi, lo, hi, TRACK);
        for (int i = from; i <= to; i++)
            track[i] = '-';
        track[from] = r->lo < lo ? '<' : '[', track[to] = r->hi > hi ? '>' : ']';
    }
    track[place(r->value, lo, hi, TRACK)] = r->value < lo ? '<' : r->value > hi ? '>' : 'o';
}

const char *as_plain_forest(as_arena *arena, const as_forest_row *rows, int n, double margin)
{
    as_text t = {0};
    char    track[TRACK + 1], ends[2][24];
    double  lo, hi;
    int     widest = 1;
    if (!as_forest_range(arena, rows, n, margin, &lo, &hi))
        return "";
    for (int i = 0; i < n; i++) {
        int columns = as_text_columns(as_name_cut(arena, as_clean_text(arena, rows[i].label), LABEL_COLUMNS));
        widest = columns > widest ? columns : widest;
    }
    for (int i = 0; i < n; i++) {
        interval_draw(track, &rows[i], margin, lo, hi);
        as_text_pad(&t, as_name_cut(arena, as_clean_text(arena, rows[i].label), LABEL_COLUMNS), widest + 1);
        as_text_printf(&t, "%s %s\n", track, as_text_cut(arena, as_clean_text(arena, rows[i].words ? rows[i].words : ""), 30));
    }
    snprintf(ends[0], sizeof ends[0], "%+.1f %%", 100 * lo);
    snprintf(ends[1], sizeof ends[1], "%+.1f %%", 100 * hi);
    as_text_pad(&t, "", widest + 1);
    as_text_pad(&t, ends[0], TRACK - (int)strlen(ends[1]));
    as_text_printf(&t, "%s\n", ends[1]);
    return as_text_keep(arena, &t);
}

/* --- History ------------------------------------------------------------------------------------------------ */

const char *as_point_date(char *buf, size_t size, const as_history_picture *h, size_t i)
{
    double when = h->x[i], span = h->x[h->n - 1] - h->x[0];
    return as_date_text(buf, size, isfinite(when) && fabs(when) < 1e12 ? (int64_t)when : 0,
                        fabs(span) < 2 * 86400 ? AS_DATE_MINUTE : AS_DATE_DAY);
}

/* The segment's level as a line below the points, a mark where it changed. */
static void grid_draw(const as_history_picture *h, char *grid, int columns, int rows, double lo, double hi)
{
    for (int c = 0; c < columns; c++) {
        size_t begin = h->n * (size_t)c / (size_t)columns, end = h->n * (size_t)(c + 1) / (size_t)columns;
        double level = h->n_marks ? h->marks[0].before : (double)NAN;
        for (int m = 0; m < h->n_marks; m++)
            if (h->marks[m].at <= begin)
                level = h->marks[m].after;
        if (isfinite(level))
            grid[(rows - 1 - place(level, lo, hi, rows)) * columns + c] = '-';
        for (int m = 0; m < h->n_marks; m++)
            for (int r = 0; r < rows && h->marks[m].at >= begin && h->marks[m].at < end; r++)
                grid[r * columns + c] = ':';
        for (size_t i = begin; i < end; i++)
            if (isfinite(h->y[i]))
                grid[(rows - 1 - place(h->y[i], lo, hi, rows)) * columns + c] = 'o';
    }
}

static void marks_say(as_text *t, const as_history_picture *h, as_arena *arena)
{
    for (int i = 0; i < h->n_marks; i++)
        as_text_printf(t, "%11s: %s %+.1f %% %s\n", "", as_clean_text(arena, h->marks[i].label ? h->marks[i].label : ""),
                       100 * (h->marks[i].after / h->marks[i].before - 1), h->marks[i].went_away ? "(went away)" : "(nominated)");
}

const char *as_plain_history(as_arena *arena, const as_history_picture *h, int columns, int rows)
{
    as_text t = {0};
    char    label[64], other[64];
    double  lo, hi;
    int     plot = columns - 13;
    plot = plot > MAX_TRACK ? MAX_TRACK : plot < 10 ? 10 : plot;
    if (!as_range_of(h->y, h->n, &lo, &hi))
        return "";
    if ((size_t)plot > h->n)
        plot = (int)h->n; /* one column a point */
    if (!(hi > lo))
        lo -= fabs(lo) * .01 + 1e-9, hi += fabs(hi) * .01 + 1e-9;
    char *grid = as_arena_take(arena, (size_t)plot * (size_t)rows, 1, 1);
    if (!grid)
        return NULL;
    memset(grid, ' ', (size_t)plot * (size_t)rows);
    grid_draw(h, grid, plot, rows, lo, hi);
    for (int r = 0; r < rows; r++) {
        bool labelled = r == 0 || r == rows - 1 || r == rows / 2;
        as_text_printf(&t, "%10s | %.*s\n", labelled ? as_show(label, sizeof label, hi - (hi - lo) * r / (rows - 1), h->unit) : "",
                       plot, grid + r * plot);
    }
    if (h->x && h->n) {
        const char *last = as_point_date(other, sizeof other, h, h->n - 1);
        int         width = (int)strlen(last);
        as_text_printf(&t, "%13s", "");
        as_text_pad(&t, as_point_date(label, sizeof label, h, 0), plot > 2 * width ? plot - width : width + 2);
        as_text_printf(&t, "%s\n", last);
    }
    marks_say(&t, h, arena);
    return as_text_keep(arena, &t);
}

/* --- Sweep -------------------------------------------------------------------------------------------------- */

const char *as_plain_sweep(as_arena *arena, const as_sweep_line *lines, int n, const char *const *labels)
{
    as_text t = {0};
    char    track[TRACK + 1];
    double  lo = log(.97), hi = log(1.03);
    size_t  n_rows = n ? lines[0].n : 0;
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < lines[i].n; k++)
            if (lines[i].y[k] > 0 && isfinite(lines[i].y[k]))
                lo = fmin(lo, log(lines[i].y[k])), hi = fmax(hi, log(lines[i].y[k]));
    for (size_t k = 0; k < n_rows; k++) {
        memset(track, '.', TRACK);
        track[TRACK] = 0;
        for (int i = 0; i < n && i < 26; i++)
            if (k < lines[i].n && lines[i].y[k] > 0 && isfinite(lines[i].y[k])) {
                char *at = &track[place(log(lines[i].y[k]), lo, hi, TRACK)];
                *at = *at == '.' ? (char)('A' + i) : '*';
            }
        as_text_pad(&t, as_text_cut(arena, as_clean_text(arena, labels[k]), LABEL_COLUMNS), LABEL_COLUMNS);
        as_text_printf(&t, " %s\n", track);
    }
    for (int i = 0; i < n && i < 26; i++)
        as_text_printf(&t, "%c %s%s", 'A' + i, as_text_cut(arena, as_clean_text(arena, lines[i].label), LABEL_COLUMNS),
                       i + 1 < n ? "   " : "   left is faster, * both\n");
    return as_text_keep(arena, &t);
}

/* plain.c - text for terminals: cleaning, cutting, and charts in characters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/text.h"
#include "report/pick.h"

enum { LABEL_COLUMNS = 24, BAR_COLUMNS = 32, N_BINS = 12, SPARK_COLUMNS = 60 };

/* A terminal obeys C0, DEL and C1; the direction overrides (U+202A-E, U+2066-9) can make a line say something else. */
static bool is_hidden(const char *s, size_t length)
{
    const unsigned char *u = (const unsigned char *)s;
    if (length == 1)
        return u[0] < 0x20 || u[0] == 0x7f;
    if (length == 2)
        return u[0] == 0xc2 && u[1] < 0xa0;
    return length == 3 && u[0] == 0xe2 &&
           ((u[1] == 0x80 && u[2] >= 0xaa && u[2] <= 0xae) || (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9));
}

const char *as_clean_text(as_arena *arena, const char *text)
{
    size_t n = strlen(text);
    char  *clean = n < SIZE_MAX / 4 ? as_arena_take(arena, 3 * n + 1, 1, 1) : NULL, *to = clean;
    if (!clean)
        return "";
    for (size_t i = 0; i < n;) {
        size_t length = as_utf8_length(text + i, n - i);
        if (!length) {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
        } else if (text[i] == '\n' || text[i] == '\t') {
            *to++ = ' ';
        } else if (!is_hidden(text + i, length)) {
            memcpy(to, text + i, length);
            to += length;
        }
        i += length ? length : 1;
    }
    return clean;
}

/* So many characters from the beginning. */
static const char *after_columns(const char *text, int columns)
{
    for (int n = 0; *text; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && n++ == columns)
            break;
    return text;
}

const char *as_text_cut(as_arena *arena, const char *text, int columns)
{
    if (columns < 1 || as_text_columns(text) <= columns)
        return text;
    const char *cut = as_arena_printf(arena, "%.*s…", (int)(after_columns(text, columns - 1) - text), text);
    return cut ? cut : "";
}

const char *as_name_cut(as_arena *arena, const char *name, int columns)
{
    int all = as_text_columns(name), tail = columns / 2;
    if (columns < 3 || all <= columns)
        return as_text_cut(arena, name, columns);
    const char *cut = as_arena_printf(arena, "%.*s…%s", (int)(after_columns(name, columns - 1 - tail) - name), name,
                                      after_columns(name, all - tail));
    return cut ? cut : "";
}

static const char *signs(as_arena *arena, const char *text, const char *unit)
{
    size_t      n = strlen(text);
    const char *kept = as_arena_text(arena, text);
    if (n > 3 && !strcmp(text + n - 3, " us"))
        kept = as_arena_printf(arena, "%.*s µs", (int)(n - 3), text);
    else if (n > 2 && !strcmp(unit, "celsius") && !strcmp(text + n - 2, " C"))
        kept = as_arena_printf(arena, "%.*s °C", (int)(n - 2), text);
    return kept ? kept : "";
}

const char *as_show_signs(as_arena *arena, double value, const char *unit)
{
    char buf[96];
    return signs(arena, as_show(buf, sizeof buf, value, unit), unit);
}

const char *as_show_interval_signs(as_arena *arena, const assay_metric *m)
{
    char buf[160];
    return signs(arena, as_show_interval(buf, sizeof buf, m), m->unit);
}

/* Eighths of a block; `share` of `columns`. */
static void bar_add(as_text *t, double share, int columns)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int                      n = (int)lround(fmin(fmax(share, 0), 1) * columns * 8);
    for (int i = 0; i < n / 8; i++)
        as_text_add(t, "█");
    as_text_add(t, eighths[n % 8]);
}

const char *as_text_keep(as_arena *arena, as_text *t)
{
    const char *kept = t->failed ? NULL : as_arena_text(arena, t->data ? t->data : "");
    as_text_drop(t);
    return kept;
}

void as_text_pad(as_text *t, const char *text, int columns)
{
    as_text_add(t, text);
    for (int n = as_text_columns(text); n < columns; n++)
        as_text_add(t, " ");
}

const char *as_plain_bars(as_arena *arena, const as_bar *bars, int n, const char *unit)
{
    as_text t = {0};
    char    number[64];
    double  most = 0;
    int     widest = 1;
    for (int i = 0; i < n; i++) {
        most = fmax(most, bars[i].value);
        int columns = as_text_columns(as_name_cut(arena, as_clean_text(arena, bars[i].label), LABEL_COLUMNS));
        widest = columns > widest ? columns : widest;
    }
    for (int i = 0; i < n; i++) {
        as_text bar = {0};
        bar_add(&bar, most > 0 && isfinite(bars[i].value) ? bars[i].value / most : 0, BAR_COLUMNS);
        as_text_pad(&t, as_name_cut(arena, as_clean_text(arena, bars[i].label), LABEL_COLUMNS), widest + 1);
        as_text_pad(&t, bar.data ? bar.data : "", BAR_COLUMNS + 1);
        as_text_printf(&t, "%s\n", as_show(number, sizeof number, bars[i].value, unit));
        t.failed |= bar.failed;
        as_text_drop(&bar);
    }
    return as_text_keep(arena, &t);
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

static void bin_add(as_arena *arena, as_text *t, const char *label, size_t count, size_t most)
{
    as_text row = {0};
    bar_add(&row, (double)count / (double)most, BAR_COLUMNS);
    for (int pad = as_text_columns(label); pad < 10; pad++)
        as_text_add(t, " ");
    as_text_printf(t, "%s ", as_text_cut(arena, label, 24));
    as_text_pad(t, row.data ? row.data : "", BAR_COLUMNS + 1);
    as_text_printf(t, "%zu\n", count);
    t->failed |= row.failed;
    as_text_drop(&row);
}

const char *as_plain_histogram(as_arena *arena, const double *x, size_t n, const char *unit)
{
    as_text t = {0};
    char    number[64];
    size_t  counts[N_BINS] = {0}, most = 1, n_beyond = 0;
    double  lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            lo = fmin(lo, x[i]), hi = fmax(hi, x[i]);
    if (!(hi >= lo) || !isfinite(hi - lo))
        return "";
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
        bin_add(arena, &t, as_show(number, sizeof number, lo + (end - lo) * i / N_BINS, unit), counts[i], most);
    if (n_beyond)
        as_text_printf(&t, "    beyond %zu, up to %s\n", n_beyond, as_show(number, sizeof number, hi, unit));
    return as_text_keep(arena, &t);
}

/* One character a block of samples, its height the block's median. */
const char *as_plain_line(as_arena *arena, const double *y, size_t n, const char *unit)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    as_text                  t = {0};
    char                     a[64], b[64];
    size_t                   n_blocks = n < SPARK_COLUMNS ? n : SPARK_COLUMNS;
    double                   medians[SPARK_COLUMNS], lo = INFINITY, hi = -INFINITY;
    double                  *scratch = AS_TAKE(arena, double, n);
    if (!scratch)
        return NULL;
    for (size_t i = 0; i < n_blocks; i++) {
        size_t begin = n * i / n_blocks, end = n * (i + 1) / n_blocks;
        medians[i] = as_median(y + begin, end - begin, scratch);
        if (isfinite(medians[i]))
            lo = fmin(lo, medians[i]), hi = fmax(hi, medians[i]);
    }
    if (!(hi >= lo) || !isfinite(hi - lo))
        return "";
    for (size_t i = 0; i < n_blocks; i++) {
        double share = hi > lo && isfinite(medians[i]) ? (medians[i] - lo) / (hi - lo) : 0;
        as_text_add(&t, isfinite(medians[i]) ? heights[(int)fmin(share * 8, 7)] : " ");
    }
    as_text_printf(&t, "\n%s at the lowest, %s at the highest\n", as_show(a, sizeof a, lo, unit), as_show(b, sizeof b, hi, unit));
    return as_text_keep(arena, &t);
}

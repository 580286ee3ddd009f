/* br_history.c - the first screen of history: the last value, its course over the runs, and where it changed; or the list of
 * cases. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MAX_CASES = 14, MAX_CHANGES = 4, MAX_POINTS = 6, COURSE_COLUMNS = 36 };

static bool fits(const assay_facts *f) { return as_facts_group_find(f, "history"); }

/* --- The cases ---------------------------------------------------------------------------------------------- */

typedef struct entry {
    const char *name, *when;
    int         row;
} entry;

static int newest_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int          order = strcmp(y->when, x->when);
    return order ? order : strcmp(x->name, y->name);
}

static void cases_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Case, the newest first", "runs", "last", "when (UTC)", NULL};
    int                      shown = t->n_rows > MAX_CASES + 1 ? MAX_CASES : t->n_rows;
    entry                   *all = AS_TAKE(&b->arena, entry, t->n_rows + 1);
    as_brief_table          *to = all ? as_brief_table_add(b, columns) : NULL;
    b->failed |= !all;
    if (!to)
        return;
    for (int i = 0; i < t->n_rows; i++)
        all[i] = (entry){as_words_at(t, i, "case"), as_words_at(t, i, "when"), i};
    qsort(all, (size_t)t->n_rows, sizeof *all, newest_first);
    to->left[3] = true;
    for (int i = 0; i < shown; i++) {
        as_brief_row *row = as_brief_row_add(b, to, all[i].name);
        row->cells[1] = as_brief_say(b, "%.0f", as_value_at(t, all[i].row, "points"));
        row->cells[2] = as_brief_value(b, as_metric_at(t, all[i].row, "last"));
        row->cells[3] = all[i].when;
    }
    if (shown < t->n_rows)
        to->note = as_brief_say(b, "%d more: --report detailed", t->n_rows - shown);
    if (t->n_rows)
        as_brief_hint_add(b, "assay history CASE", "its course");
}

/* --- One case ------------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Column c of the course: the median of its runs; NaN: none has a number. */
static double column_of(as_brief *b, const as_series *s, int c, int columns)
{
    size_t  from = (size_t)c * s->n / (size_t)columns, to = (size_t)(c + 1) * s->n / (size_t)columns, n = 0;
    double *some = AS_TAKE(&b->arena, double, to - from + 1);
    for (size_t i = from; some && i < to; i++)
        if (isfinite(s->y[i]))
            some[n++] = s->y[i];
    if (n)
        qsort(some, n, sizeof *some, by_value);
    return n ? some[n / 2] : (double)NAN;
}

/* A line of eight heights, from the smallest to the largest value; differences below 1 % look the same. */
static const char *course_draw(as_brief *b, const as_series *s, double *lo, double *hi)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    int                      columns = s->n < COURSE_COLUMNS ? (int)s->n : COURSE_COLUMNS;
    double                   y[COURSE_COLUMNS];
    const char              *text = "";
    *lo = INFINITY, *hi = -INFINITY;
    for (int c = 0; c < columns; c++) {
        y[c] = column_of(b, s, c, columns);
        if (isfinite(y[c]))
            *lo = fmin(*lo, y[c]), *hi = fmax(*hi, y[c]);
    }
    double range = fmax(*hi - *lo, .01 * *lo);
    for (int c = 0; c < columns; c++)
        text = as_brief_say(b, "%s%s", text, isfinite(y[c]) ? heights[(int)lround(7 * fmax(0, (y[c] - *lo) / range))] : " ");
    return text;
}

static void course_add(as_brief *b, const assay_facts *f)
{
    const as_series *s = as_facts_series_find(f, "history", "median");
    const as_table  *points = as_facts_table_find(f, "history", "points");
    double           lo, hi;
    char             low[64], high[64];
    if (!s || !s->n)
        return;
    const char *course = course_draw(b, s, &lo, &hi);
    if (isfinite(lo))
        as_brief_number_add(
            b, "Course", NULL, course,
            as_brief_say(b, "%s to %s", as_show(low, sizeof low, lo, s->y_unit), as_show(high, sizeof high, hi, s->y_unit)));
    if (isfinite(lo) && b->n_numbers)
        b->numbers[b->n_numbers - 1].drawn = true;
    if (points && points->n_rows)
        as_brief_number_add(
            b, "Runs", NULL, as_brief_say(b, "%d", points->n_rows),
            as_brief_say(b, "%.10s to %.10s", as_words_at(points, 0, "when"), as_words_at(points, points->n_rows - 1, "when")));
}

static void changes_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Changed at", "commit", "before", "after", "change", "state", NULL};
    as_brief_table          *to = t && t->n_rows ? as_brief_table_add(b, columns) : NULL;
    int                      from = to && t->n_rows > MAX_CHANGES ? t->n_rows - MAX_CHANGES : 0;
    if (!to)
        return;
    to->left[1] = to->left[5] = true;
    for (int i = t->n_rows - 1; i >= from; i--) {
        double        change = as_value_at(t, i, "change");
        as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "when"));
        row->cells[1] = as_words_at(t, i, "commit");
        row->cells[2] = as_brief_value(b, as_metric_at(t, i, "before"));
        row->cells[3] = as_brief_value(b, as_metric_at(t, i, "after"));
        row->cells[4] = as_brief_say(b, "%+.1f %%", 100 * change);
        row->cells[5] = as_words_at(t, i, "state");
        row->role = !strcmp(row->cells[5], "went away") ? AS_CHART_MUTED : change > 0 ? AS_CHART_WARN : AS_CHART_GOOD;
    }
}

static void points_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Newest runs", "commit", "run", "median", "change", NULL};
    as_brief_table          *to = t && t->n_rows ? as_brief_table_add(b, columns) : NULL;
    int                      from = to && t->n_rows > MAX_POINTS ? t->n_rows - MAX_POINTS : 0;
    if (!to)
        return;
    to->left[1] = true;
    for (int i = t->n_rows - 1; i >= from; i--) {
        double        change = as_value_at(t, i, "change");
        as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "when"));
        row->cells[1] = as_words_at(t, i, "commit");
        row->cells[2] = as_words_at(t, i, "run");
        row->cells[3] = as_brief_value(b, as_metric_at(t, i, "median"));
        row->cells[4] = isfinite(change) ? as_brief_say(b, "%+.1f %%", 100 * change) : "-";
    }
}

/* The headline is the newest step that did not go away. */
static void headline_make(as_brief *b, const assay_facts *f, const as_table *changes)
{
    const assay_metric *last = as_metric_find(f, "history.last"), *n = as_metric_find(f, "history.points");
    const char         *value = last ? as_brief_value(b, last) : "n/a";
    int                 newest = -1;
    for (int i = 0; changes && i < changes->n_rows; i++)
        newest = strcmp(as_words_at(changes, i, "state"), "went away") ? i : newest;
    if (newest >= 0) {
        double change = as_value_at(changes, newest, "change");
        b->level = change > 0 ? AS_LEVEL_WARN : AS_LEVEL_GOOD;
        const char *commit = as_words_at(changes, newest, "commit");
        bool        known = *commit && strcmp(commit, "-") != 0;
        b->headline = as_brief_say(b, "Now %s: it seems %.1f %% %s since %s%s%s%s.", value, 100 * fabs(change),
                                   change > 0 ? "slower" : "faster", as_words_at(changes, newest, "when"), known ? " (" : "",
                                   known ? commit : "", known ? ")" : "");
        as_brief_text_add(b, "A change point is a hint, not a proof: assay compare or assay check on the two builds proves it.");
    } else if (n && n->value < 10) {
        b->headline = as_brief_say(b, "Now %s; %.0f %s: too few to find a change, which takes about ten.", value, n->value,
                                   n->value > 1 ? "runs" : "run");
    } else {
        b->headline = as_brief_say(b, "Now %s: no change in %.0f runs.", value, n ? n->value : 0);
    }
}

static bool several_machines(const as_table *points)
{
    for (int i = 1; points && i < points->n_rows; i++)
        if (strcmp(as_words_at(points, i, "machine"), as_words_at(points, 0, "machine")))
            return true;
    return false;
}

static void make(as_brief *b, const assay_facts *f)
{
    const as_table *cases = as_facts_table_find(f, "history", "cases"), *changes = as_facts_table_find(f, "history", "changes"),
                   *points = as_facts_table_find(f, "history", "points");
    as_brief_hint_add(b, "--report detailed", "everything");
    if (cases) {
        cases_add(b, cases);
        const as_fact_group *g = as_facts_group_find(f, "history");
        for (int i = 0; i < g->n_findings; i++) /* a store without cases says so */
            as_brief_text_add(b, g->findings[i].text);
        return;
    }
    headline_make(b, f, changes);
    course_add(b, f);
    changes_add(b, changes);
    points_add(b, points);
    if (several_machines(points))
        as_brief_text_add(b, "The runs come from more than one machine: a step may be a change of machine and nothing else.");
    as_brief_hint_add(b, "--html FILE", "page");
    as_brief_hint_add(b, "assay runs list", "runs");
}

const as_brief_kind as_br_history = {.name = "history", .order = 40, .fits = fits, .make = make};

/* sec_history.c - a case over its runs with the suggested change points, or the cases that have a history. */
#include <math.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_MARKS = 64, MANY = 30 };

static int marks_make(const assay_facts *f, as_mark *marks, size_t n_points)
{
    const as_table *t = as_facts_table_find(f, "history", "changes");
    int             n = 0;
    for (int i = 0; t && i < t->n_rows && n < MAX_MARKS; i++) {
        double at = as_value_at(t, i, "at"), before = as_value_at(t, i, "before");
        double after = as_value_at(t, i, "after");
        if (at >= 0 && at < (double)n_points && before > 0 && after > 0)
            marks[n++] = (as_mark){.label = as_words_at(t, i, "commit"),
                                   .on = AS_MARK_X,
                                   .role = strcmp(as_words_at(t, i, "state"), "went away") ? AS_CHART_MAIN : AS_CHART_MUTED,
                                   .at = at,
                                   .before = before,
                                   .after = after};
    }
    return n;
}

static void chart_add(as_doc *d, const assay_facts *f)
{
    const as_series *y = as_facts_series_find(f, "history", "median"), *lo = as_facts_series_find(f, "history", "lo"),
                    *hi = as_facts_series_find(f, "history", "hi");
    const as_table *t = as_facts_table_find(f, "history", "points");
    as_mark         marks[MAX_MARKS];
    if (!y || !y->n)
        return;
    as_chart_series series = as_pick_series(y);
    const char    **names = AS_TAKE(&d->arena, const char *, y->n);
    for (int i = 0; names && t && i < t->n_rows && (size_t)i < y->n; i++)
        names[i] = as_words_at(t, i, "commit");
    bool bounded = lo && hi && lo->n == y->n && hi->n == y->n;
    series.names = names;
    series.lo = bounded ? lo->y : NULL, series.hi = bounded ? hi->y : NULL;
    as_doc_chart(d,
                 &(as_chart){.kind = "history",
                             .group = "history",
                             .title = "History",
                             .caption = "Median of each run with its interval; lines show the level, dashed lines where it changed",
                             .x = {.label = "when", .unit = y->x_unit},
                             .y = {{.label = "median", .unit = y->y_unit}},
                             .series = &series,
                             .n_series = 1,
                             .marks = marks,
                             .n_marks = marks_make(f, marks, y->n),
                             .table = t});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[] = {"history.last", "history.points", "history.changes", NULL};
    if (!as_facts_group_find(f, "history"))
        return;
    as_pick_facts(d, f, AS_BLOCK_HERO, keys);
    as_doc_heading(d, "history", "History");
    chart_add(d, f);
    as_pick_findings(d, f, "history");
    as_pick_table(d, f, "history", "cases");
    as_pick_table(d, f, "history", "changes");
    const as_table *points = as_facts_table_find(f, "history", "points");
    if (points && points->n_rows > MANY)
        as_doc_text(d, "The JSON and the CSV have the table of all %d points.", points->n_rows);
    else
        as_pick_table(d, f, "history", "points");
}

const as_section as_sec_history = {.name = "history", .order = 19, .write = write_section, .part = AS_PART_REGRESSION};

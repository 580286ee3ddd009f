/* sec_sweep.c - candidates over the values of an option: which wins where, where the winner changes, what to choose. */
#include <math.h>

#include "report/pick.h"

enum { MAX_ARMS = 16, MAX_MARKS = 16 };

/* The names of the values are in the table. */
static const char *const *names_make(as_doc *d, const assay_facts *f, size_t n)
{
    const as_table *t = as_facts_table_find(f, "sweep", "values");
    const char    **names = t && (size_t)t->n_rows >= n ? AS_TAKE(&d->arena, const char *, n) : NULL;
    for (size_t i = 0; names && i < n; i++)
        names[i] = as_cell_words(as_cell_at(t, (int)i, 0));
    return names;
}

static int lines_make(as_doc *d, const assay_facts *f, as_chart_series *lines)
{
    int  n = 0;
    char key[32];
    for (; n < MAX_ARMS; n++) {
        const as_series         *s[3];
        static const char *const names[] = {"ratio", "lo", "hi"};
        for (int k = 0; k < 3; k++) {
            snprintf(key, sizeof key, "%s.%d", names[k], n);
            s[k] = as_facts_series_find(f, "sweep", key);
        }
        if (!s[0] || !s[0]->x)
            break;
        bool bounded = s[1] && s[2] && s[1]->n == s[0]->n && s[2]->n == s[0]->n;
        lines[n] = as_pick_series(s[0]);
        lines[n].lo = bounded ? s[1]->y : NULL, lines[n].hi = bounded ? s[2]->y : NULL;
        lines[n].group = n, lines[n].names = names_make(d, f, s[0]->n);
    }
    return n;
}

static int marks_make(const assay_facts *f, as_mark *marks)
{
    const as_table *t = as_facts_table_find(f, "sweep", "crossovers");
    int             n = 0;
    for (int i = 0; t && i < t->n_rows && n < MAX_MARKS; i++) {
        const as_cell *at = as_cell_at(t, i, as_column_find(t, "at"));
        if (isfinite(as_cell_value(at)))
            marks[n++] = (as_mark){.label = "the winner changes",
                                   .on = AS_MARK_X,
                                   .role = AS_CHART_NOTE,
                                   .at = at->metric.value,
                                   .lo = at->metric.lo,
                                   .hi = at->metric.hi};
    }
    return n;
}

static void chart_add(as_doc *d, const assay_facts *f, bool per_item)
{
    as_chart_series  lines[MAX_ARMS];
    as_mark          marks[MAX_MARKS];
    int              n = lines_make(d, f, lines);
    const as_series *first = as_facts_series_find(f, "sweep", "ratio.0");
    if (!n)
        return;
    as_doc_chart(
        d, &(as_chart){.kind = "sweep",
                       .group = "sweep",
                       .title = "Times over the sweep",
                       .caption = per_item ? "Time per item relative to the first candidate; where lines cross, the winner changes"
                                           : "Time relative to the first candidate; where lines cross, the winner changes",
                       .x = {.label = first->x_unit, .unit = "1", .log = true},
                       .y = {{.label = "relative to the first", .unit = first->y_unit, .log = true}},
                       .series = lines,
                       .n_series = n,
                       .marks = marks,
                       .n_marks = marks_make(f, marks)});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "sweep"))
        return;
    bool per_item = as_facts_table_find(f, "sweep", "items") != NULL;
    as_doc_heading(d, "sweep", "Sweep");
    as_pick_findings(d, f, "sweep");
    chart_add(d, f, per_item);
    as_pick_table(d, f, "sweep", "values");
    if (per_item)
        as_pick_table(d, f, "sweep", "items");
    as_pick_table(d, f, "sweep", "crossovers");
    as_pick_table(d, f, "sweep", "guide");
}

const as_section as_sec_sweep = {.name = "sweep", .order = 15, .write = write_section, .part = AS_PART_DEVICES};

/* sec_sweep.c - arms over the values of something: who wins where, where that flips, what to take. */
#include <math.h>

#include "report/pick.h"

enum { MAX_ARMS = 16, MAX_MARKS = 16 };

static int lines_make(const assay_facts *f, as_sweep_line *lines)
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
        lines[n] = (as_sweep_line){.label = s[0]->label,
                                   .x = s[0]->x,
                                   .y = s[0]->y,
                                   .lo = bounded ? s[1]->y : NULL,
                                   .hi = bounded ? s[2]->y : NULL,
                                   .n = s[0]->n};
    }
    return n;
}

static int marks_make(const assay_facts *f, as_sweep_mark *marks)
{
    const as_table *t = as_facts_table_find(f, "sweep", "crossovers");
    int             n = 0;
    for (int i = 0; t && i < t->n_rows && n < MAX_MARKS; i++) {
        const as_cell *at = as_cell_at(t, i, as_column_find(t, "at"));
        if (isfinite(as_cell_value(at)))
            marks[n++] = (as_sweep_mark){at->metric.value, at->metric.lo, at->metric.hi};
    }
    return n;
}

/* In characters a row a value: the table has their names. */
static const char *plain_of(as_doc *d, const assay_facts *f, const as_sweep_line *lines, int n)
{
    const as_table *t = as_facts_table_find(f, "sweep", "values");
    const char    **labels = t ? AS_TAKE(&d->arena, const char *, t->n_rows) : NULL;
    if (!labels || !n || (size_t)t->n_rows < lines[0].n)
        return "";
    for (int i = 0; i < t->n_rows; i++)
        labels[i] = as_cell_words(as_cell_at(t, i, 0));
    return as_plain_sweep(&d->arena, lines, n, labels);
}

static void write_section(as_doc *d, const assay_facts *f)
{
    as_sweep_line lines[MAX_ARMS];
    as_sweep_mark marks[MAX_MARKS];
    if (!as_facts_group_find(f, "sweep"))
        return;
    int              n = lines_make(f, lines), n_marks = marks_make(f, marks);
    const as_series *first = as_facts_series_find(f, "sweep", "ratio.0");
    bool             per_item = as_facts_table_find(f, "sweep", "items") != NULL;
    as_doc_heading(d, "sweep", "Sweep");
    as_pick_findings(d, f, "sweep");
    if (n)
        as_pick_chart(d,
                      per_item ? "How many times the first one's time per item each takes; where the lines cross the winner flips"
                               : "How many times the first one's time each takes; where the lines cross the winner flips",
                      as_svg_sweep(&d->arena, lines, n, marks, n_marks, first->x_unit ? first->x_unit : "", "Times over the sweep"),
                      plain_of(d, f, lines, n));
    as_pick_table(d, f, "sweep", "values");
    if (per_item)
        as_pick_table(d, f, "sweep", "items");
    as_pick_table(d, f, "sweep", "crossovers");
    as_pick_table(d, f, "sweep", "guide");
}

const as_section as_sec_sweep = {.name = "sweep", .order = 15, .write = write_section};

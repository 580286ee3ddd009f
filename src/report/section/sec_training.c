/* sec_training.c - a training step: its passes, its layers, and what its memory is for. */
#include <math.h>

#include "report/pick.h"

/* The rows of a table as parts of a whole. */
static void parts_chart(as_doc *d, const as_table *t, const char *names, const char *values, const char *unit, const char *title)
{
    size_t           n = 0;
    double          *y = t ? AS_TAKE(&d->arena, double, t->n_rows + 1) : NULL;
    const char     **words = t ? AS_TAKE(&d->arena, const char *, t->n_rows + 1) : NULL;
    as_chart_series *series = AS_TAKE(&d->arena, as_chart_series, 1);
    if (!y || !words || !series)
        return;
    for (int i = 0; i < t->n_rows; i++)
        if (as_value_at(t, i, values) > 0) {
            y[n] = as_value_at(t, i, values);
            words[n++] = as_words_at(t, i, names);
        }
    *series = (as_chart_series){.n = n, .y = y, .names = words};
    if (n)
        as_doc_chart(
            d,
            &(as_chart){.kind = "parts", .title = title, .caption = title, .y = {{.unit = unit}}, .series = series, .n_series = 1});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "training") || !as_facts_table_find(f, "training", "passes"))
        return;
    as_doc_heading(d, "training-step", "Training step");
    as_pick_findings(d, f, "training");
    as_pick_group(d, f, "training");
    parts_chart(d, as_facts_table_find(f, "training", "passes"), "pass", "time", "ns", "Time of a step by pass");
    as_pick_table(d, f, "training", "passes");
    as_pick_table(d, f, "training", "layers");
    parts_chart(d, as_facts_table_find(f, "training", "memory"), "kind", "bytes", "byte", "Memory of a step by what it is for");
    as_pick_table(d, f, "training", "memory");
}

const as_section as_sec_training = {.name = "training-step", .order = 42, .write = write_section};

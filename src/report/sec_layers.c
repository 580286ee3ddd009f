/* sec_layers.c - the time by layer: bars, the table of steps, the prologue, and why which kernel. */
#include <math.h>
#include <stdlib.h>

#include "report/pick.h"

enum { MAX_BARS = 16 };

static int by_value(const void *a, const void *b)
{
    double x = ((const as_bar *)a)->value, y = ((const as_bar *)b)->value;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The slowest first; the rest is one bar, so that nothing is hidden. */
static int bars_make(as_doc *d, const as_table *t, as_bar *bars)
{
    int name = as_column_find(t, "name"), op = as_column_find(t, "op"), time = as_column_find(t, "time"), n = 0;
    for (int i = 0; i < t->n_rows; i++) {
        double value = as_cell_value(as_cell_at(t, i, time));
        if (isfinite(value) && value >= 0)
            bars[n++] = (as_bar){.label = as_cell_words(as_cell_at(t, i, name)), .detail = as_cell_words(as_cell_at(t, i, op)), .value = value};
    }
    if (n)
        qsort(bars, (size_t)n, sizeof *bars, by_value);
    if (n <= MAX_BARS)
        return n;
    double rest = 0;
    for (int i = MAX_BARS - 1; i < n; i++)
        rest += bars[i].value;
    const char *label = as_arena_printf(&d->arena, "%d others", n - MAX_BARS + 1);
    bars[MAX_BARS - 1] = (as_bar){.label = label ? label : "others", .value = rest};
    return MAX_BARS;
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "layers", "steps");
    if (!as_facts_group_find(f, "layers"))
        return;
    as_doc_heading(d, "layers", "Layers");
    as_pick_findings(d, f, "layers");
    if (t) {
        as_bar *bars = AS_TAKE(&d->arena, as_bar, t->n_rows);
        int n = bars ? bars_make(d, t, bars) : 0;
        if (!bars)
            d->failed = true;
        else if (n)
            as_pick_chart(d, "Time per run by layer, slowest first", as_svg_bars(&d->arena, bars, n, "ns", "Time per run by layer"), as_plain_bars(&d->arena, bars, n, "ns"));
        as_pick_table(d, f, "layers", "steps");
    }
    as_pick_table(d, f, "layers", "prologue");
    as_pick_table(d, f, "layers", "kernels");
}

const as_section as_sec_layers = {.name = "layers", .order = 30, .write = write_section};

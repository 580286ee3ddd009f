/* sec_layers.c - the time by layer: bars, the table of steps, the prologue, and why which kernel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            bars[n++] = (as_bar){
                .label = as_cell_words(as_cell_at(t, i, name)), .detail = as_cell_words(as_cell_at(t, i, op)), .value = value};
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

/* --- Flame graph and graph: pictures only; in text the bars and tables say the same --------------------------- */

enum { MAX_VERTICES = 400, MAX_INPUTS = 64 };

/* Run, then its segments, then their steps, end to end; what no step explains stays open under the run.
 * Means, because they add up. */
static int frames_make(as_doc *d, const assay_facts *f, const as_table *t, as_frame *frames)
{
    int name = as_column_find(t, "name"), op = as_column_find(t, "op"), stage = as_column_find(t, "stage"),
        device = as_column_find(t, "device");
    int                 segment = as_column_find(t, "segment"), time = as_column_find(t, "mean"), n = 1, open = 0;
    const assay_metric *whole = as_facts_metric(f, "layers.run_mean");
    double              at = 0, now = -2;
    for (int i = 0; i < t->n_rows; i++) {
        double value = as_cell_value(as_cell_at(t, i, time)), its = as_cell_value(as_cell_at(t, i, segment));
        if (!(value >= 0) || !isfinite(value) || !strcmp(as_cell_words(as_cell_at(t, i, stage)), "prologue"))
            continue;
        its = isfinite(its) ? its : -1;
        if (its != now) {
            const char *where = as_cell_words(as_cell_at(t, i, device));
            const char *label =
                its < 0 ? as_arena_printf(&d->arena, "no segment") : as_arena_printf(&d->arena, "segment %.0f, %s", its, where);
            frames[open = n++] = (as_frame){.label = label ? label : "", .depth = 1, .start = at};
            now = its;
        }
        frames[open].value += value;
        frames[n++] = (as_frame){.label = as_cell_words(as_cell_at(t, i, name)),
                                 .detail = as_cell_words(as_cell_at(t, i, op)),
                                 .depth = 2,
                                 .start = at,
                                 .value = value};
        at += value;
    }
    double run = whole && as_metric_has(whole) ? whole->value : 0;
    frames[0] =
        (as_frame){.label = *f->title ? f->title : "run", .detail = "one run", .depth = 0, .start = 0, .value = fmax(run, at)};
    return at > 0 ? n : 0;
}

static int numbers_read(const char *text, int below, int *out)
{
    int   n = 0;
    char *end;
    for (long step = strtol(text, &end, 10); end != text && n < MAX_INPUTS; step = strtol(text, &end, 10)) {
        if (step >= 0 && step < below)
            out[n++] = (int)step;
        text = end;
    }
    return n;
}

static int vertices_make(as_doc *d, const as_table *t, as_vertex *vertices)
{
    int name = as_column_find(t, "name"), op = as_column_find(t, "op"), time = as_column_find(t, "time"),
        inputs = as_column_find(t, "inputs"), n = 0;
    for (; n < t->n_rows; n++) {
        int  found[MAX_INPUTS], n_found = numbers_read(as_cell_words(as_cell_at(t, n, inputs)), n, found);
        int *kept = AS_TAKE(&d->arena, int, n_found);
        for (int i = 0; kept && i < n_found; i++)
            kept[i] = found[i];
        vertices[n] = (as_vertex){.label = as_cell_words(as_cell_at(t, n, name)),
                                  .detail = as_cell_words(as_cell_at(t, n, op)),
                                  .value = as_cell_value(as_cell_at(t, n, time)),
                                  .inputs = kept,
                                  .n_inputs = kept ? n_found : 0};
    }
    return n;
}

static void pictures(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "layers", "graph");
    if (!t)
        return;
    as_frame *frames = AS_TAKE(&d->arena, as_frame, (size_t)t->n_rows * 2 + 1);
    if (!frames) {
        d->failed = true;
        return;
    }
    int n = frames_make(d, f, t, frames);
    as_pick_chart(d, "Flame graph of one run, by mean times: click a box to zoom, type to search",
                  as_svg_flame(&d->arena, frames, n, "ns", "Flame graph of one run"), "");
    if (t->n_rows > MAX_VERTICES) {
        as_doc_text(d, "The graph of %d steps is too large to draw; the limit is %d.", t->n_rows, MAX_VERTICES);
        return;
    }
    as_vertex *vertices = AS_TAKE(&d->arena, as_vertex, t->n_rows);
    if (!vertices)
        d->failed = true;
    else
        as_pick_chart(d, "The network as it ran: each step below those it reads, with its time",
                      as_svg_graph(&d->arena, vertices, vertices_make(d, t, vertices), "ns", "Graph of the steps with their times"),
                      "");
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
        int     n = bars ? bars_make(d, t, bars) : 0;
        if (!bars)
            d->failed = true;
        else if (n)
            as_pick_chart(d, "Time per run by layer, slowest first", as_svg_bars(&d->arena, bars, n, "ns", "Time per run by layer"),
                          as_plain_bars(&d->arena, bars, n, "ns"));
        as_pick_table(d, f, "layers", "steps");
    }
    pictures(d, f);
    as_pick_table(d, f, "layers", "prologue");
    as_pick_table(d, f, "layers", "kernels");
}

const as_section as_sec_layers = {.name = "layers", .order = 30, .write = write_section};

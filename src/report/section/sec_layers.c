/* sec_layers.c - the time by layer: bars, the table of steps, the prologue, and why which kernel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_BARS = 16 };

/* The slowest first; the rest is one bar, so that nothing is hidden. */
static void bars_add(as_doc *d, const as_table *t)
{
    as_points p;
    if (!as_points_take(d, &p, t->n_rows))
        return;
    for (int i = 0; i < t->n_rows; i++) {
        double value = as_value_at(t, i, "time");
        if (!isfinite(value) || value < 0)
            continue;
        p.names[p.n] = as_words_at(t, i, "name"), p.details[p.n] = as_words_at(t, i, "op");
        p.y[p.n++] = value;
    }
    as_points_sort(d, &p);
    if (p.n > MAX_BARS) {
        for (size_t i = MAX_BARS; i < p.n; i++)
            p.y[MAX_BARS - 1] += p.y[i];
        p.names[MAX_BARS - 1] = as_arena_printf(&d->arena, "%zu others", p.n - MAX_BARS + 1);
        p.details[MAX_BARS - 1] = "", p.roles[MAX_BARS - 1] = AS_CHART_MUTED;
        p.n = MAX_BARS;
    }
    as_chart_series series = as_points_series(&p);
    as_doc_chart(d, &(as_chart){.kind = "bars",
                                .group = "layers",
                                .title = "Time per run by layer",
                                .caption = "Time per run by layer, slowest first",
                                .y = {{.label = "time per run", .unit = "ns"}},
                                .series = &series,
                                .n_series = 1,
                                .table = t});
}

/* --- Flame graph and graph: where room is short the bars and tables say the same -------------------------------- */

enum { MAX_VERTICES = 400 };

typedef struct frames {
    double      *from, *to, *depth;
    const char **names, **details;
    size_t       n;
} frames;

static size_t frame_add(frames *all, const char *name, const char *detail, int depth, double from, double to)
{
    all->names[all->n] = name, all->details[all->n] = detail;
    all->depth[all->n] = depth, all->from[all->n] = from, all->to[all->n] = to;
    return all->n++;
}

/* Run, then its segments, then their steps, end to end; what no step explains stays open under the run.
 * Times are means over the same runs, so they add up. */
static void frames_make(as_doc *d, const assay_facts *f, const as_table *t, frames *all)
{
    const assay_metric *whole = as_facts_metric(f, "layers.run_mean");
    double              at = 0, now = -2;
    size_t              open = frame_add(all, *f->title ? f->title : "run", "one run", 0, 0, 0);
    for (int i = 0; i < t->n_rows; i++) {
        double value = as_value_at(t, i, "time"), its = as_value_at(t, i, "segment");
        if (!(value >= 0) || !isfinite(value) || !strcmp(as_words_at(t, i, "stage"), "prologue"))
            continue;
        its = isfinite(its) ? its : -1;
        if (its != now) {
            const char *label =
                its < 0 ? "no segment" : as_arena_printf(&d->arena, "segment %.0f, %s", its, as_words_at(t, i, "device"));
            open = frame_add(all, label, "", 1, at, at);
            now = its;
        }
        frame_add(all, as_words_at(t, i, "name"), as_words_at(t, i, "op"), 2, at, at + value);
        all->to[open] = at += value;
    }
    all->to[0] = fmax(whole && as_metric_has(whole) ? whole->value : 0, at);
    all->n = at > 0 ? all->n : 0;
}

static void flame_add(as_doc *d, const assay_facts *f, const as_table *t)
{
    size_t room = (size_t)t->n_rows * 2 + 1;
    frames all = {.from = AS_TAKE(&d->arena, double, room),
                  .to = AS_TAKE(&d->arena, double, room),
                  .depth = AS_TAKE(&d->arena, double, room),
                  .names = AS_TAKE(&d->arena, const char *, room),
                  .details = AS_TAKE(&d->arena, const char *, room)};
    if (!all.from || !all.to || !all.depth || !all.names || !all.details) {
        d->failed = true;
        return;
    }
    frames_make(d, f, t, &all);
    as_chart_series series = {
        .n = all.n, .x = all.from, .x_end = all.to, .y = all.depth, .names = all.names, .details = all.details};
    as_doc_chart(d, &(as_chart){.kind = "flame",
                                .group = "layers",
                                .title = "Flame graph of one run",
                                .caption = "Flame graph of one run, by mean times: click a box to zoom, type to search",
                                .x = {.label = "time in the run", .unit = "ns"},
                                .y = {{.label = "depth", .unit = "1"}},
                                .series = &series,
                                .n_series = 1,
                                .table = t,
                                .extra = true});
}

/* Whether an edge joins two rows of the table, the later one reading the earlier. */
static bool edge_read(const as_series *edges, size_t i, int n_rows, as_link *out)
{
    double from = edges->x[i], to = edges->y[i];
    if (!(from >= 0 && from < to && to < n_rows) || from != floor(from) || to != floor(to))
        return false;
    *out = (as_link){.from = (int)from, .to = (int)to};
    return true;
}

static void graph_add(as_doc *d, const assay_facts *f, const as_table *t)
{
    const as_series *edges = as_facts_series_find(f, "layers", "edges");
    as_points        p;
    as_link         *links = edges && edges->x ? AS_TAKE(&d->arena, as_link, edges->n) : NULL;
    int              n_links = 0;
    if (!edges || !edges->x) /* an older trace has none: a graph without links would be a lie */
        return;
    d->failed |= !links;
    if (!links || !as_points_take(d, &p, t->n_rows))
        return;
    for (size_t i = 0; i < edges->n; i++)
        n_links += edge_read(edges, i, t->n_rows, &links[n_links]);
    for (int i = 0; i < t->n_rows; i++) {
        p.names[i] = as_words_at(t, i, "name"), p.details[i] = as_words_at(t, i, "op");
        p.y[i] = as_value_at(t, i, "time");
    }
    p.n = (size_t)t->n_rows;
    as_chart_series series = as_points_series(&p);
    if (n_links)
        as_doc_chart(d, &(as_chart){.kind = "graph",
                                    .group = "layers",
                                    .title = "Graph of the steps with their times",
                                    .caption = "The network as it ran: each step below the steps that it reads from, with its time",
                                    .y = {{.label = "time per run", .unit = "ns"}},
                                    .series = &series,
                                    .n_series = 1,
                                    .links = links,
                                    .n_links = n_links,
                                    .table = t,
                                    .extra = true});
}

static void pictures(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "layers", "graph");
    if (!t)
        return;
    flame_add(d, f, t);
    if (t->n_rows > MAX_VERTICES)
        as_doc_text(d, "The graph has %d steps, too many to draw (at most %d).", t->n_rows, MAX_VERTICES);
    else
        graph_add(d, f, t);
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "layers", "steps");
    if (!as_facts_group_find(f, "layers"))
        return;
    as_doc_heading(d, "layers", "Layers");
    as_pick_findings(d, f, "layers");
    if (t)
        bars_add(d, t);
    as_pick_table(d, f, "layers", "steps");
    const as_table *devices = as_facts_table_find(f, "devices", "devices");
    if (devices && devices->n_rows > 1)
        as_pick_table(d, f, "devices", "devices");
    pictures(d, f);
    as_pick_table(d, f, "layers", "prologue");
    as_pick_table(d, f, "layers", "kernels");
}

const as_section as_sec_layers = {.name = "layers", .order = 30, .write = write_section};

/* sec_layers.c - the time by layer: bars, the table of steps, the set-up, and the reason for each kernel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_BARS = 16 };

/* The slowest first; the rest is one bar, so that nothing is hidden. */
static void bars_add(as_doc *d, const as_table *t, bool folded)
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
    as_doc_chart(d,
                 &(as_chart){.kind = "bars",
                             .group = "layers",
                             .title = folded ? "Time per run by module" : "Time per run by layer",
                             .caption = folded ? "Time per run by module, slowest first" : "Time per run by layer, slowest first",
                             .y = {{.label = "time per run", .unit = "ns"}},
                             .series = &series,
                             .n_series = 1,
                             .table = t});
}

/* --- Flame graph and graph: where space is short the bars and tables say the same -------------------------------- */

enum { MAX_VERTICES = 400, MAX_MODULES = 24 }; /* MAX_MODULES: nested */

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

/* The set-up runs once per load: it is not part of the network as it runs. */
static bool is_set_up(const as_table *t, int row) { return !strcmp(as_words_at(t, row, "stage"), "prologue"); }

/* Whether a row of the graph's table is part of the run and has a time. */
static bool is_timed(const as_table *t, int row, double *time)
{
    *time = as_value_at(t, row, "time");
    return *time >= 0 && isfinite(*time) && !is_set_up(t, row);
}

/* The module of a timed row; "": no module, no time, or no such row. */
static const char *module_at(const as_table *t, int row)
{
    double      time;
    const char *path = row >= 0 && row < t->n_rows && is_timed(t, row, &time) ? as_words_at(t, row, "module") : "";
    return strcmp(path, "-") ? path : "";
}

/* How many leading parts two paths share; the second is not empty. */
static int shared_parts(const char *a, const char *b)
{
    int parts = 0;
    for (; *a && *a == *b; a++, b++)
        parts += *a == '.';
    return parts + ((!*a || *a == '.') && (!*b || *b == '.'));
}

/* A step that is its whole module replaces it, "layer4.1.conv2+relu" for "layer4.1.conv2". */
static bool is_whole_module(const as_table *t, int row, const char *path)
{
    const char *name = as_words_at(t, row, "name");
    size_t      n = strlen(path);
    bool        is_named_so = !strncmp(name, path, n) && (!name[n] || name[n] == '+');
    int         depth = as_module_depth(path);
    return is_named_so && shared_parts(module_at(t, row - 1), path) < depth && shared_parts(module_at(t, row + 1), path) < depth;
}

/* Run, then its modules, each within the one around it, then their steps, end to end. */
static double frames_by_module(as_doc *d, const as_table *t, frames *all)
{
    double      at = 0, value;
    size_t      open[MAX_MODULES];
    int         n_open = 0;
    const char *path = "";
    for (int i = 0; i < t->n_rows; i++) {
        if (!is_timed(t, i, &value))
            continue;
        const char *its = module_at(t, i);
        int         depth = as_module_depth(its), shared = *its ? shared_parts(path, its) : 0;
        depth -= *its && is_whole_module(t, i, its);
        depth = depth < MAX_MODULES ? depth : MAX_MODULES;
        n_open = shared < n_open ? shared : n_open;
        n_open = depth < n_open ? depth : n_open;
        for (; n_open < depth; n_open++) {
            const char *label = as_arena_text_n(&d->arena, its, as_module_prefix(its, n_open + 1));
            d->failed |= !label;
            open[n_open] = frame_add(all, label ? label : "", "", n_open + 1, at, at);
        }
        frame_add(all, as_words_at(t, i, "name"), as_words_at(t, i, "op"), n_open + 1, at, at + value);
        at += value;
        for (int k = 0; k < n_open; k++)
            all->to[open[k]] = at;
        path = its;
    }
    return at;
}

/* Run, then its segments, then their steps. */
static double frames_by_segment(as_doc *d, const as_table *t, frames *all)
{
    double at = 0, now = -2, value;
    size_t open = 0;
    for (int i = 0; i < t->n_rows; i++) {
        double its = as_value_at(t, i, "segment");
        if (!is_timed(t, i, &value))
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
    return at;
}

/* End to end; time that no step explains stays empty under the run.  Times are means over the same runs, so they add up. */
static void frames_make(as_doc *d, const assay_facts *f, const as_table *t, frames *all)
{
    const assay_metric *whole = as_facts_metric(f, "layers.run_mean");
    frame_add(all, *f->title ? f->title : "run", "one run", 0, 0, 0);
    double at = as_modules_known(t) ? frames_by_module(d, t, all) : frames_by_segment(d, t, all);
    all->to[0] = fmax(whole && as_metric_has(whole) ? whole->value : 0, at);
    all->n = at > 0 ? all->n : 0;
}

/* Its boxes would have no length: why, in the words of the first step that has no time. */
static void no_flame_say(as_doc *d, const as_table *t)
{
    int column = as_column_find(t, "time");
    for (int i = 0; column >= 0 && i < t->n_rows; i++) {
        const as_cell *c = as_cell_at(t, i, column);
        if (!is_set_up(t, i) && c && !c->text && !as_metric_has(&c->metric) && c->metric.reason) {
            as_doc_text(d, "There is no flame graph, because the steps have no times: %s.", c->metric.reason);
            return;
        }
    }
    as_doc_text(d, "There is no flame graph, because the steps have no times.");
}

static void flame_add(as_doc *d, const assay_facts *f, const as_table *t)
{
    size_t room = (size_t)t->n_rows * 2 + 1;
    for (int i = 0; i < t->n_rows; i++) {
        int depth = as_module_depth(module_at(t, i));
        room += (size_t)(depth < MAX_MODULES ? depth : MAX_MODULES);
    }
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
    if (!all.n) {
        no_flame_say(d, t);
        return;
    }
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

/* Whether an edge joins two rows of the table that are shown, the later one reading the earlier.  places: of each row its point, or -1. */
static bool edge_read(const as_series *edges, size_t i, const int *places, int n_rows, as_link *out)
{
    double from = edges->x[i], to = edges->y[i];
    if (!(from >= 0 && from < to && to < n_rows) || from != floor(from) || to != floor(to))
        return false;
    *out = (as_link){.from = places[(int)from], .to = places[(int)to]};
    return out->from >= 0 && out->to >= 0;
}

static void graph_add(as_doc *d, const assay_facts *f, const as_table *t)
{
    const as_series *edges = as_facts_series_find(f, "layers", "edges");
    as_points        p;
    as_link         *links = edges && edges->x ? AS_TAKE(&d->arena, as_link, edges->n) : NULL;
    int             *places = AS_TAKE(&d->arena, int, t->n_rows), n_links = 0;
    if (!edges || !edges->x) /* an older trace has none: a graph without links would be wrong */
        return;
    d->failed |= !links || !places;
    if (!links || !places || !as_points_take(d, &p, t->n_rows))
        return;
    for (int i = 0; i < t->n_rows; i++) {
        places[i] = is_set_up(t, i) ? -1 : (int)p.n;
        if (places[i] < 0)
            continue;
        p.names[p.n] = as_words_at(t, i, "name"), p.details[p.n] = as_words_at(t, i, "op");
        p.y[p.n++] = as_value_at(t, i, "time");
    }
    for (size_t i = 0; i < edges->n; i++)
        n_links += edge_read(edges, i, places, t->n_rows, &links[n_links]);
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

/* Without the column of modules where none is known. */
static void steps_add(as_doc *d, const as_table *t)
{
    int       module = as_column_find(t, "module"), n = t->n_columns - 1;
    as_table *shown = AS_TAKE(&d->arena, as_table, 1);
    as_cell  *cells = AS_TAKE(&d->arena, as_cell, (size_t)t->n_rows * (size_t)t->n_columns);
    if (!t->n_rows)
        return;
    if (module < 0 || module != n || as_modules_known(t)) {
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_TABLE, .text = t->label, .table = t});
        return;
    }
    if (!shown || !cells) {
        d->failed = true;
        return;
    }
    for (int i = 0; i < t->n_rows; i++)
        memcpy(&cells[(size_t)i * (size_t)n], as_cell_at(t, i, 0), (size_t)n * sizeof *cells);
    *shown = *t;
    shown->cells = cells;
    shown->n_columns = n;
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_TABLE, .text = t->label, .table = shown, .of = t});
}

/* The table that the bars show, and the modules beside it if it shows steps. */
static void layers_add(as_doc *d, const assay_facts *f)
{
    const as_table *steps = as_facts_table_find(f, "layers", "steps"), *t = as_pick_layers(d, f);
    if (!t)
        return;
    if (d->by_module && t == steps)
        as_doc_text(d, "No layer of this run has a module path, so nothing is folded by module.");
    bars_add(d, t, t != steps);
    if (t == steps) {
        as_pick_table(d, f, "layers", "modules");
        steps_add(d, t);
    } else {
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_TABLE, .text = t->label, .table = t, .of = steps});
    }
}

static void prologue_add(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "layers", "prologue");
    if (t)
        steps_add(d, t);
}

/* For comparisons: which layers made the difference, one table each. */
static void diffs_add(as_doc *d, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "layers");
    for (int i = 0; i < g->n_tables; i++)
        if (!strncmp(g->tables[i].key, "diff", 4))
            as_pick_table(d, f, "layers", g->tables[i].key);
}

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "layers"))
        return;
    as_doc_heading(d, "layers", "Layers");
    as_pick_findings(d, f, "layers");
    diffs_add(d, f);
    layers_add(d, f);
    const as_table *devices = as_facts_table_find(f, "devices", "devices");
    if (devices && devices->n_rows > 1)
        as_pick_table(d, f, "devices", "devices");
    pictures(d, f);
    prologue_add(d, f);
    as_pick_table(d, f, "layers", "kernels");
}

const as_section as_sec_layers = {.name = "layers", .order = 30, .write = write_section};

/* sec_roofline.c - how near each layer comes to what this machine can do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_POINTS = 400 };

/* The band of a roof for the number of threads of the run; {0} when it was not measured. */
static as_roof_band band_of(const assay_facts *f, const char *front, const char *label, const char *threads)
{
    const as_fact_group *g = as_facts_group_find(f, "roofs");
    as_roof_band         best = {.label = label};
    for (int i = 0; g && i < g->n_facts; i++) {
        const char         *key = g->facts[i].key;
        size_t              n = strlen(key), a = strlen(front), b = strlen(threads);
        const assay_metric *m = &g->facts[i].metric;
        if (n < a + b || strncmp(key, front, a) || strcmp(key + n - b, threads) || !as_metric_has(m) || !(m->value > best.hi))
            continue;
        best.lo = m->lo > 0 ? m->lo : m->value;
        best.hi = m->hi >= m->value ? m->hi : m->value;
    }
    return best;
}

static const char *detail_of(as_doc *d, const as_table *t, int row)
{
    const as_cell *time = as_cell_at(t, row, as_column_find(t, "time")), *share = as_cell_at(t, row, as_column_find(t, "of_roof"));
    const char    *text = as_arena_printf(
           &d->arena, "%s, %s, %.3g flop/byte, %s, bound by %s, %.0f %% of its roof",
           as_cell_words(as_cell_at(t, row, as_column_find(t, "op"))),
           as_show_signs(&d->arena, as_cell_value(as_cell_at(t, row, as_column_find(t, "rate"))), "flop/s"),
           as_cell_value(as_cell_at(t, row, as_column_find(t, "intensity"))), as_show_signs(&d->arena, as_cell_value(time), "ns"),
           as_cell_words(as_cell_at(t, row, as_column_find(t, "bound"))), 100 * as_cell_value(share));
    return text ? text : "";
}

static void chart_add(as_doc *d, const assay_facts *f, const as_table *t)
{
    const char  *threads = as_facts_note_find(f, "plan.threads");
    const char  *suffix = as_arena_printf(&d->arena, ".t%s", threads ? threads : "1");
    as_roof_band flat, slopes[4];
    int          n_slopes = 0, n = 0;
    double       whole = 0;
    static const struct {
        const char *read, *triad, *label;
    } levels[] = {{"roofs.read.l1", "roofs.triad.l1", "L1"},
                  {"roofs.read.l2", "roofs.triad.l2", "L2"},
                  {"roofs.read.l3", "roofs.triad.l3", "L3"},
                  {"roofs.read.dram", "roofs.triad.dram", "DRAM"}};
    as_roof_point *points = AS_TAKE(&d->arena, as_roof_point, MAX_POINTS);
    if (!suffix || !points)
        return;
    flat = band_of(f, "roofs.fma.f32", "FMA f32", suffix);
    if (!(flat.hi > 0))
        flat = band_of(f, "roofs.fma.f32", "FMA f32, one thread", suffix = ".t1");
    for (size_t i = 0; i < AS_COUNT(levels); i++) {
        as_roof_band read = band_of(f, levels[i].read, levels[i].label, suffix),
                     triad = band_of(f, levels[i].triad, levels[i].label, suffix);
        if (!(read.hi > 0) && !(triad.hi > 0))
            continue;
        slopes[n_slopes++] = (as_roof_band){.label = levels[i].label,
                                            .lo = read.hi > 0 && triad.hi > 0 ? fmin(read.lo, triad.lo) : fmax(read.lo, triad.lo),
                                            .hi = fmax(read.hi, triad.hi)};
    }
    for (int i = 0; i < t->n_rows; i++) {
        double ns = as_cell_value(as_cell_at(t, i, as_column_find(t, "time")));
        whole += ns > 0 ? ns : 0;
    }
    for (int i = 0; i < t->n_rows && n < MAX_POINTS; i++)
        points[n++] = (as_roof_point){.label = as_cell_words(as_cell_at(t, i, as_column_find(t, "name"))),
                                      .detail = detail_of(d, t, i),
                                      .intensity = as_cell_value(as_cell_at(t, i, as_column_find(t, "intensity"))),
                                      .rate = as_cell_value(as_cell_at(t, i, as_column_find(t, "rate"))),
                                      .weight = as_cell_value(as_cell_at(t, i, as_column_find(t, "time"))) / whole};
    as_pick_chart(d, "Each layer under the roofs of this machine; the size of a point is its share of the time",
                  as_svg_roofline(&d->arena, &flat, slopes, n_slopes, points, n, "roofline"), "");
}

static int by_value(const void *a, const void *b)
{
    double x = ((const as_bar *)a)->value, y = ((const as_bar *)b)->value;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Hotspots: by what could be gained, not by what is spent. */
static void hotspots_add(as_doc *d, const as_table *t)
{
    as_bar *bars = AS_TAKE(&d->arena, as_bar, t->n_rows);
    int     n = 0;
    for (int i = 0; bars && i < t->n_rows; i++) {
        double gain = 100 * as_cell_value(as_cell_at(t, i, as_column_find(t, "recoverable"))),
               of = 100 * as_cell_value(as_cell_at(t, i, as_column_find(t, "of_roof")));
        const char *detail = as_arena_printf(&d->arena, "%.0f %% of its roof", of);
        if (gain > 0.05)
            bars[n++] = (as_bar){
                .label = as_cell_words(as_cell_at(t, i, as_column_find(t, "name"))), .detail = detail ? detail : "", .value = gain};
    }
    if (!n)
        return;
    qsort(bars, (size_t)n, sizeof *bars, by_value);
    if (n > 12)
        n = 12;
    as_pick_chart(d, "Hotspots: share of the run that is lost against the roof, in percent",
                  as_svg_bars(&d->arena, bars, n, "%", "hotspots"), as_plain_bars(&d->arena, bars, n, "%"));
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "roofline", "steps");
    if (!t)
        return;
    as_doc_heading(d, "roofline", "Roofline");
    as_pick_findings(d, f, "roofline");
    chart_add(d, f, t);
    hotspots_add(d, t);
    as_pick_table(d, f, "roofline", "steps");
    as_pick_group(d, f, "roofline");
}

const as_section as_sec_roofline = {.name = "roofline", .order = 42, .write = write_section};

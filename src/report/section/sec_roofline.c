/* sec_roofline.c - how near each layer is to the limits of this machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_POINTS = 400, MAX_HOTSPOTS = 12 };

/* Smaller gains get no bar. */
#define LEAST_GAIN .0005

/* The range of a limit for the number of threads of the run; hi is 0 when it was not measured. */
static as_mark band_of(const assay_facts *f, const char *front, const char *label, const char *threads)
{
    const as_fact_group *g = as_facts_group_find(f, "roofs");
    as_mark              best = {.label = label, .role = AS_CHART_LIMIT};
    for (int i = 0; g && i < g->n_facts; i++) {
        const char         *key = g->facts[i].key;
        size_t              n = strlen(key), a = strlen(front), b = strlen(threads);
        const assay_metric *m = &g->facts[i].metric;
        if (n < a + b || strncmp(key, front, a) || strcmp(key + n - b, threads) || !as_metric_has(m) || !(m->value > best.hi))
            continue;
        best.lo = m->lo > 0 ? m->lo : m->value;
        best.hi = m->hi >= m->value ? m->hi : m->value;
        best.at = m->value;
    }
    return best;
}

/* A step without a share is above a limit, and says which kind. */
static const char *share_of(as_doc *d, const as_table *t, int row)
{
    double share = as_value_at(t, row, "of_roof");
    return isnan(share) ? as_words_at(t, row, "standing") : as_arena_printf(&d->arena, "%.0f %% of its limit", 100 * share);
}

static const char *detail_of(as_doc *d, const as_table *t, int row)
{
    return as_arena_printf(&d->arena, "%s, %s, %.3g flop/byte, %s, limited by %s, %s", as_words_at(t, row, "op"),
                           as_show_signs(&d->arena, as_value_at(t, row, "rate"), "flop/s"), as_value_at(t, row, "intensity"),
                           as_show_signs(&d->arena, as_value_at(t, row, "time"), "ns"), as_words_at(t, row, "bound"),
                           share_of(d, t, row));
}

enum { MAX_LIMITS = 5 };

/* The flat limit, then a slope for each level that was measured. */
static int limits_make(as_doc *d, const assay_facts *f, as_mark *limits)
{
    const assay_metric *threads = as_facts_metric(f, "roofline.threads"); /* files of older versions do not have it */
    const char         *suffix = as_arena_printf(&d->arena, ".t%.0f", threads && as_metric_has(threads) ? threads->value : 1);
    int                 n = 1;
    static const struct {
        const char *read, *triad, *label;
    } levels[MAX_LIMITS - 1] = {{"roofs.read.l1", "roofs.triad.l1", "L1"},
                                {"roofs.read.l2", "roofs.triad.l2", "L2"},
                                {"roofs.read.l3", "roofs.triad.l3", "L3"},
                                {"roofs.read.dram", "roofs.triad.dram", "DRAM"}};
    suffix = suffix ? suffix : ".t1";
    limits[0] = band_of(f, "roofs.fma.f32", "FMA f32", suffix);
    if (!(limits[0].hi > 0))
        limits[0] = band_of(f, "roofs.fma.f32", "FMA f32, one thread", suffix = ".t1");
    limits[0].on = AS_MARK_Y;
    for (size_t i = 0; i < AS_COUNT(levels); i++) {
        as_mark read = band_of(f, levels[i].read, levels[i].label, suffix),
                triad = band_of(f, levels[i].triad, levels[i].label, suffix);
        if (!(read.hi > 0) && !(triad.hi > 0))
            continue;
        limits[n++] = (as_mark){.label = levels[i].label,
                                .on = AS_MARK_SLOPE,
                                .role = AS_CHART_LIMIT,
                                .at = fmax(read.at, triad.at),
                                .lo = read.hi > 0 && triad.hi > 0 ? fmin(read.lo, triad.lo) : fmax(read.lo, triad.lo),
                                .hi = fmax(read.hi, triad.hi)};
    }
    return n;
}

static void chart_add(as_doc *d, const assay_facts *f, const as_table *t)
{
    as_mark   limits[MAX_LIMITS];
    as_points p;
    int       n = t->n_rows < MAX_POINTS ? t->n_rows : MAX_POINTS, n_limits = limits_make(d, f, limits);
    double   *x = AS_TAKE(&d->arena, double, n), *weight = AS_TAKE(&d->arena, double, n), whole = 0;
    d->failed |= !x || !weight;
    if (!x || !weight || !as_points_take(d, &p, n))
        return;
    for (int i = 0; i < t->n_rows; i++)
        whole += as_value_at(t, i, "time") > 0 ? as_value_at(t, i, "time") : 0;
    for (int i = 0; i < n; i++) {
        p.names[i] = as_words_at(t, i, "name"), p.details[i] = detail_of(d, t, i);
        x[i] = as_value_at(t, i, "intensity"), p.y[i] = as_value_at(t, i, "rate");
        weight[i] = as_value_at(t, i, "time") / whole;
    }
    p.n = (size_t)n;
    as_chart_series series = as_points_series(&p);
    series.x = x, series.weight = weight;
    as_doc_chart(d, &(as_chart){.kind = "roofline",
                                .group = "roofline",
                                .title = "roofline",
                                .caption = "Each layer below the limits of this machine; a larger point takes more of the time",
                                .x = {.label = "intensity: flops per compulsory byte", .unit = "flop/byte", .log = true},
                                .y = {{.label = "work rate", .unit = "flop/s", .log = true}},
                                .series = &series,
                                .n_series = 1,
                                .marks = limits,
                                .n_marks = n_limits,
                                .table = t,
                                .extra = true});
}

/* Hotspots: sorted by the possible gain, not by the time. */
static void hotspots_add(as_doc *d, const as_table *t)
{
    as_points p;
    if (!as_points_take(d, &p, t->n_rows))
        return;
    for (int i = 0; i < t->n_rows; i++) {
        double gain = as_value_at(t, i, "recoverable");
        if (!(gain > LEAST_GAIN))
            continue;
        p.names[p.n] = as_words_at(t, i, "name");
        p.details[p.n] = share_of(d, t, i);
        p.y[p.n++] = gain;
    }
    as_points_sort(d, &p);
    p.n = p.n < MAX_HOTSPOTS ? p.n : MAX_HOTSPOTS;
    as_chart_series series = as_points_series(&p);
    as_doc_chart(d, &(as_chart){.kind = "bars",
                                .group = "roofline",
                                .title = "hotspots",
                                .caption = "Hotspots: share of the run that reaching the limit would save",
                                .y = {{.label = "share of the run", .unit = "ratio"}},
                                .series = &series,
                                .n_series = 1,
                                .table = t});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "roofline", "steps");
    if (!t)
        return;
    as_doc_heading(d, "roofline", "Roofline");
    as_pick_findings(d, f, "roofline");
    chart_add(d, f, t);
    const assay_metric *hotspot = as_facts_metric(f, "roofline.hotspot");
    if (!hotspot || as_metric_has(hotspot)) /* an older run JSON does not have it */
        hotspots_add(d, t);
    as_pick_table(d, f, "roofline", "steps");
    as_pick_group(d, f, "roofline");
}

const as_section as_sec_roofline = {.name = "roofline", .order = 42, .write = write_section};

/* sec_devicechart.c - what each device did in a run, beside what it can do. */
#include <math.h>

#include "report/pick.h"

static void chart_add(as_doc *d, const as_table *t, const char *rate, const char *limit, const char *unit, const char *caption)
{
    as_points p;
    if (!as_points_take(d, &p, 2 * t->n_rows))
        return;
    for (int i = 0; i < t->n_rows; i++) {
        double reached = as_value_at(t, i, rate), most = limit ? as_value_at(t, i, limit) : (double)NAN;
        if (isfinite(reached))
            p.names[p.n] = as_words_at(t, i, "device"), p.details[p.n] = "reached", p.y[p.n++] = reached;
        if (isfinite(most))
            p.names[p.n] = as_arena_printf(&d->arena, "limit of %s", as_words_at(t, i, "device")), p.details[p.n] = "limit",
            p.roles[p.n] = AS_CHART_LIMIT, p.y[p.n++] = most;
    }
    as_chart_series series = as_points_series(&p);
    as_doc_chart(d, &(as_chart){.kind = "bars",
                                .group = "devices",
                                .title = caption,
                                .caption = caption,
                                .y = {{.label = caption, .unit = unit}},
                                .series = &series,
                                .n_series = 1,
                                .table = t});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "devices", "rates");
    if (!t || !t->n_rows)
        return;
    as_doc_heading(d, "device-chart", "What each device did");
    chart_add(d, t, "flop_rate", "flop_limit", "flop/s", "Work rate by device");
    chart_add(d, t, "byte_rate", "byte_limit", "byte/s", "Byte rate by device; caches may serve more than main memory can");
    chart_add(d, t, "utilisation", NULL, "ratio", "Share of the run's time by device");
}

const as_section as_sec_devicechart = {.name = "devicechart", .order = 24, .write = write_section, .part = AS_PART_DEVICES};

/* sec_metric.c - one metric per candidate (compare --metric): a table, and a chart where the candidates are numbers. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "metric");
    const as_series     *s = as_facts_series_find(f, "metric", "values");
    if (!g)
        return;
    as_doc_heading(d, "metric", g->label);
    as_pick_table(d, f, "metric", "values");
    if (!s || !s->x)
        return;
    as_chart_series line = as_pick_series(s);
    as_doc_chart(d, &(as_chart){.kind = "sweep",
                                .group = "metric",
                                .title = g->label,
                                .caption = "Per candidate",
                                .x = {.label = "candidate", .unit = s->x_unit, .log = true},
                                .y = {{.unit = s->y_unit}},
                                .series = &line,
                                .n_series = 1});
}

const as_section as_sec_metric = {.name = "metric", .order = 21, .write = write_section};

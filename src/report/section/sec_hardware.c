/* sec_hardware.c - what the sensors saw over the run: CPU, memory, faults, switches, power, clock and temperature where they were read. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "hardware");
    if (!g || !g->n_series)
        return;
    as_doc_heading(d, "hardware", "Hardware over the run");
    for (int from = 0; from < g->n_series; from += AS_CHART_LANES) {
        as_chart_series series[AS_CHART_LANES];
        as_chart        c = {.kind = "lanes",
                             .group = "hardware",
                             .title = from ? "More sensors over the run" : "Sensors over the run",
                             .caption = from ? NULL : "Each sensor that was read while it measured; those that were not are below",
                             .x = {.label = "time", .unit = "s"},
                             .series = series};
        for (int i = from; i < g->n_series && i < from + AS_CHART_LANES; i++) {
            series[c.n_series] = as_pick_series(&g->series[i]);
            series[c.n_series].lane = c.n_series;
            c.y[c.n_series++] = (as_chart_axis){.label = g->series[i].label, .unit = g->series[i].y_unit};
        }
        as_doc_chart(d, &c);
    }
}

const as_section as_sec_hardware = {.name = "hardware", .order = 48, .write = write_section};

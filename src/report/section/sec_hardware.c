/* sec_hardware.c - what the sensors saw over the run: CPU, memory, faults, switches, power, clock and temperature where they were read. */
#include "report/pick.h"

static bool is_zero(const as_series *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->y[i] != 0)
            return false;
    return true;
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "hardware");
    if (!g || !g->n_series)
        return;
    as_doc_heading(d, "hardware", "Hardware over the run");
    const as_series **shown = AS_TAKE(&d->arena, const as_series *, g->n_series);
    int               n = 0;
    const char       *idle = "";
    d->failed |= !shown;
    for (int i = 0; shown && i < g->n_series; i++)
        if (is_zero(&g->series[i]))
            idle = as_arena_printf(&d->arena, "%s%s%s", idle, *idle ? ", " : "", g->series[i].label);
        else
            shown[n++] = &g->series[i];
    d->failed |= !idle;
    for (int from = 0; from < n && !d->failed; from += AS_CHART_LANES) {
        as_chart_series series[AS_CHART_LANES];
        as_chart        c = {.kind = "lanes",
                             .group = "hardware",
                             .title = from ? "More sensors over the run" : "Sensors over the run",
                             .caption =
                          from ? NULL
                                      : "What each sensor saw while it measured; those that were read at the ends only are under Sensors",
                             .x = {.label = "time", .unit = "s"},
                             .series = series};
        for (int i = from; i < n && i < from + AS_CHART_LANES; i++) {
            series[c.n_series] = as_pick_series(shown[i]);
            series[c.n_series].lane = c.n_series;
            c.y[c.n_series++] = (as_chart_axis){.label = shown[i]->label, .unit = shown[i]->y_unit};
        }
        as_doc_chart(d, &c);
    }
    if (idle && *idle)
        as_doc_text(d, "Zero all the time: %s.", idle);
}

const as_section as_sec_hardware = {.name = "hardware", .order = 48, .write = write_section};

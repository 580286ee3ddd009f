/* sec_allocations.c - what a recorded program allocated: over time, at the peak, at the end, and how often. */
#include "report/pick.h"

static void timeline_add(as_doc *d, const assay_facts *f)
{
    const as_series    *s = as_facts_series_find(f, "allocations", "timeline");
    const assay_metric *peak = as_metric_find(f, "allocations.peak");
    if (!s || s->n < 2)
        return;
    as_chart_series one = as_pick_series(s);
    as_mark         mark = {.label = "peak", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = peak ? peak->value : 0};
    as_doc_chart(d, &(as_chart){.kind = "course",
                                .group = "allocations",
                                .title = "Memory in use",
                                .caption = "The most that was in use in each step, from the start of the program to its end",
                                .x = {.label = "time", .unit = s->x_unit},
                                .y = {{.label = "in use", .unit = s->y_unit}},
                                .series = &one,
                                .n_series = 1,
                                .marks = &mark,
                                .n_marks = peak != NULL});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const tables[] = {"peak", "leaks", "live", "calls", "processes"};
    if (!as_facts_group_find(f, "allocations"))
        return;
    as_doc_heading(d, "allocations", "Allocations");
    as_pick_findings(d, f, "allocations");
    timeline_add(d, f);
    for (size_t i = 0; i < AS_COUNT(tables); i++)
        as_pick_table(d, f, "allocations", tables[i]);
    as_pick_group(d, f, "allocations");
}

const as_section as_sec_allocations = {.name = "allocations", .order = 61, .write = write_section};

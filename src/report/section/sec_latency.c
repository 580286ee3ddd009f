/* sec_latency.c - the distribution of the samples, their course, and the numbers. */
#include "report/pick.h"

static int marks_make(const assay_facts *f, as_mark *marks)
{
    static const struct {
        const char *key, *label;
    } wanted[] = {{"latency.p5", "p5"}, {"latency.median", "median"}, {"latency.p95", "p95"}, {"latency.p99", "p99"}};
    int n = 0;
    for (size_t i = 0; i < AS_COUNT(wanted); i++) {
        const assay_metric *m = as_facts_metric(f, wanted[i].key);
        if (m && as_metric_has(m))
            marks[n++] = (as_mark){
                .label = wanted[i].label, .on = AS_MARK_Y, .role = AS_CHART_NOTE, .at = m->value, .lo = m->lo, .hi = m->hi};
    }
    return n;
}

static void charts_add(as_doc *d, const assay_facts *f, const as_series *s)
{
    as_mark         marks[4];
    as_chart_series series = as_pick_series(s);
    as_chart        c = {.kind = "histogram",
                         .group = "latency",
                         .title = "Distribution of samples",
                         .caption = "How the samples are distributed",
                         .x = {.label = "when", .unit = s->x_unit},
                         .y = {{.label = "time per run", .unit = s->y_unit}},
                         .series = &series,
                         .n_series = 1,
                         .marks = marks,
                         .n_marks = marks_make(f, marks)};
    as_doc_chart(d, &c);
    c.kind = "course", c.title = "Samples over time", c.caption = "The samples in the order taken", c.n_marks = 0;
    as_doc_chart(d, &c);
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_series *s = as_facts_series_find(f, "latency", "samples");
    if (!as_facts_group_find(f, "latency"))
        return;
    as_doc_heading(d, "latency", "Latency");
    as_pick_findings(d, f, "latency");
    if (s)
        charts_add(d, f, s);
    as_pick_group(d, f, "latency");
}

const as_section as_sec_latency = {.name = "latency", .order = 40, .write = write_section};

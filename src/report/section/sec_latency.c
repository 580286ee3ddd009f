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
            marks[n++] = (as_mark){m->value, wanted[i].label};
    }
    return n;
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_series *s = as_facts_series_find(f, "latency", "samples");
    as_mark          marks[4];
    if (!as_facts_group_find(f, "latency"))
        return;
    as_doc_heading(d, "latency", "Latency");
    as_pick_findings(d, f, "latency");
    if (s && s->n) {
        as_pick_chart(d, "How the samples are distributed",
                      as_svg_histogram(&d->arena, s->y, s->n, s->y_unit, marks, marks_make(f, marks), "Distribution of samples"),
                      as_plain_histogram(&d->arena, s->y, s->n, s->y_unit));
        as_pick_chart(d, "The samples in the order taken",
                      as_svg_line(&d->arena, s->x, s->y, s->n, s->x_unit, s->y_unit, "Samples over time"),
                      as_plain_line(&d->arena, s->y, s->n, s->y_unit));
    }
    as_pick_group(d, f, "latency");
}

const as_section as_sec_latency = {.name = "latency", .order = 40, .write = write_section};

/* sec_tune.c - what tune tried: curves and tables. */
#include "report/pick.h"

static void curve_add(as_doc *d, const assay_facts *f, const char *const *keys, const char *title, const char *x, bool logs)
{
    enum { MOST = 2 };
    as_chart_series *lines = AS_TAKE(&d->arena, as_chart_series, MOST);
    int              n = 0;
    for (int i = 0; lines && keys[i] && n < MOST; i++) {
        const as_series *s = as_facts_series_find(f, "tune", keys[i]);
        if (!s || !s->n)
            continue;
        lines[n] = as_pick_series(s);
        lines[n].group = n;
        n++;
    }
    if (!n)
        return;
    const as_series *first = as_facts_series_find(f, "tune", keys[0]);
    as_doc_chart(d, &(as_chart){.kind = "sweep",
                                .title = title,
                                .caption = title,
                                .x = {.label = x, .unit = first ? first->x_unit : "1", .log = logs},
                                .y = {{.unit = first ? first->y_unit : "1"}},
                                .series = lines,
                                .n_series = n});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const tables[] = {
        "probes", "threads", "rates", "ways", "kinds", "losses", "layers.f16-storage", "layers.bf16-storage"};
    if (!as_facts_group_find(f, "tune"))
        return;
    as_doc_heading(d, "tune", "Tuning");
    as_pick_findings(d, f, "tune");
    as_pick_group(d, f, "tune");
    curve_add(d, f, (const char *const[]){"rate", "fit", NULL}, "Samples per second over the batch size", "batch size", true);
    curve_add(d, f, (const char *const[]){"speedup", NULL}, "Speed-up over the number of threads", "threads", false);
    curve_add(d, f, (const char *const[]){"loss", NULL}, "Smoothed loss over the learning rate", "learning rate", true);
    for (size_t i = 0; i < AS_COUNT(tables); i++)
        as_pick_table(d, f, "tune", tables[i]);
}

const as_section as_sec_tune = {.name = "tune", .order = 43, .write = write_section};

/* sec_sensors.c - the readings of the sensors, and why others have none. */
#include "report/pick.h"

static void part(as_doc *d, const as_fact_group *g, bool available)
{
    const as_fact **picked = AS_TAKE(&d->arena, const as_fact *, g->n_facts);
    int             n = 0;
    if (!picked) {
        d->failed = true;
        return;
    }
    for (int i = 0; i < g->n_facts; i++)
        if (as_metric_has(&g->facts[i].metric) == available)
            picked[n++] = &g->facts[i];
    if (!n)
        return;
    if (!available)
        as_doc_text(d, "Not available here, and why:");
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_FACTS, .facts = picked, .n_facts = n});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "sensors");
    if (!g)
        return;
    as_doc_heading(d, "sensors", "Sensors");
    as_pick_findings(d, f, "sensors");
    part(d, g, true);
    part(d, g, false);
}

const as_section as_sec_sensors = {.name = "sensors", .order = 80, .write = write_section, .part = AS_PART_APPENDIX};

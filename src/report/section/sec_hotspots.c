/* sec_hotspots.c - what takes the time, and how much of it is above the limit. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "hotspots");
    if (!g)
        return;
    as_doc_heading(d, "hotspots", "Hotspots");
    as_pick_findings(d, f, "hotspots");
    for (int i = 0; i < g->n_tables; i++)
        as_pick_table(d, f, "hotspots", g->tables[i].key);
    if (g->n_tables)
        as_doc_text(d, "Potential is the share of the whole time that is above the limit: what a perfect kernel there would save.");
}

const as_section as_sec_hotspots = {.name = "hotspots", .order = 32, .write = write_section};

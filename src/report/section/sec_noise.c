/* sec_noise.c - the smallest change that this machine can detect in a given time, and what disturbs it. */
#include "report/pick.h"

enum { MAX_PICTURES = 8 };

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "noise");
    if (!g)
        return;
    as_doc_heading(d, "noise", "Noise");
    as_pick_findings(d, f, "noise");
    for (int i = 0; i < g->n_tables; i++)
        as_pick_table(d, f, "noise", g->tables[i].key);
    d->detail = true;
    for (int i = 0; i < MAX_PICTURES; i++) {
        const as_series *blocks = as_series_at(f, "noise", i, "blocks.0");
        if (blocks)
            as_pick_noise(d, f, "noise", i, (size_t)i < f->n_trials ? f->trials[i]->name : blocks->label, false);
    }
    as_pick_group(d, f, "noise");
    d->detail = false;
}

const as_section as_sec_noise = {.name = "noise", .order = 18, .write = write_section, .part = AS_PART_APPENDIX};

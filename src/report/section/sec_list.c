/* sec_list.c - results that are a list or a few numbers: a stream, devices, stored runs, baselines. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const groups[] = {"stream", "devices", "runs", "baselines"};
    for (size_t i = 0; i < AS_COUNT(groups); i++) {
        const as_fact_group *g = as_facts_group_find(f, groups[i]);
        if (!g)
            continue;
        as_doc_heading(d, g->key, g->label);
        for (int k = 0; k < g->n_tables; k++)
            as_pick_table(d, f, g->key, g->tables[k].key);
        as_pick_group(d, f, g->key);
        as_pick_findings(d, f, g->key);
    }
}

const as_section as_sec_list = {.name = "list", .order = 22, .write = write_section, .part = AS_PART_DEVICES};

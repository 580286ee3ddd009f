/* sec_calls.c - the tree of calls, and who calls what takes the most time. */
#include <string.h>

#include "report/pick.h"

/* A run whose layers belong to no module is a list, which the layers' own table shows. */
static bool is_flat(const as_table *t)
{
    for (int i = 0; i < t->n_rows; i++)
        if (as_value_at(t, i, "depth") > 1)
            return false;
    return true;
}

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const trees[] = {"samples", "spans", "layers"};
    bool                     has_heading = false;
    for (size_t i = 0; i < AS_COUNT(trees); i++) {
        const as_table *t = as_facts_table_find(f, "calls", trees[i]);
        if (!t || !t->n_rows || (!strcmp(trees[i], "layers") && is_flat(t)))
            continue;
        if (!has_heading) {
            as_doc_heading(d, "calls", "Call tree");
            as_pick_findings(d, f, "calls");
            as_pick_group(d, f, "calls");
            has_heading = true;
        }
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_TREE, .text = t->label, .table = t});
        const char *key = as_arena_printf(&d->arena, "%s.relations", trees[i]);
        if (key)
            as_pick_table(d, f, "calls", key);
    }
}

const as_section as_sec_calls = {.name = "calls", .order = 34, .write = write_section};

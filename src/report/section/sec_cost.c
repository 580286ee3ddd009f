/* sec_cost.c - the work of one run, and its rate. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "cost"))
        return;
    as_doc_heading(d, "work", "Work");
    as_pick_findings(d, f, "cost");
    as_pick_group(d, f, "cost");
}

const as_section as_sec_cost = {.name = "cost", .order = 45, .write = write_section};

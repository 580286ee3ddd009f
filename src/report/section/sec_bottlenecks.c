/* sec_bottlenecks.c - what holds the run back, and which rules could not be tested. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "bottlenecks"))
        return;
    as_doc_heading(d, "bottlenecks", "Bottlenecks");
    as_pick_findings(d, f, "bottlenecks");
    as_pick_table(d, f, "bottlenecks", "bottlenecks");
}

const as_section as_sec_bottlenecks = {.name = "bottlenecks", .order = 36, .write = write_section};

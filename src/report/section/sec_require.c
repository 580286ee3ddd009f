/* sec_require.c - a requirement profile, row by row. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "require"))
        return;
    as_doc_heading(d, "require", "Requirements");
    as_pick_findings(d, f, "require");
    as_pick_table(d, f, "require", "rows");
}

const as_section as_sec_require = {.name = "require", .order = 12, .write = write_section};

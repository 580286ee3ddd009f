/* sec_compile.c - compiled against op by op, where `--compile both` measured the two. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "compile"))
        return;
    as_doc_heading(d, "compile", "Compiled against op by op");
    as_pick_findings(d, f, "compile");
    as_pick_group(d, f, "compile");
}

const as_section as_sec_compile = {.name = "compile", .order = 45, .write = write_section};

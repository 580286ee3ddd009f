/* sec_session.c - a session of the user's own code: threads, what recording cost, operations, the program's numbers. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "session"))
        return;
    as_doc_heading(d, "session", "Session");
    as_pick_findings(d, f, "session");
    as_pick_group(d, f, "session");
    as_pick_table(d, f, "session", "operations");
    as_pick_table(d, f, "session", "numbers");
}

const as_section as_sec_session = {.name = "session", .order = 15, .write = write_section};

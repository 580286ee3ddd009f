/* sec_books.c - where the time of a run goes, and what no span explains. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "books"))
        return;
    as_doc_heading(d, "books", "Time accounted for");
    as_pick_findings(d, f, "books");
    as_pick_table(d, f, "books", "entries");
    as_pick_group(d, f, "books");
}

const as_section as_sec_books = {.name = "books", .order = 50, .write = write_section};

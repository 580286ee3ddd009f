/* sec_contention.c - was the machine idle during the measurement? */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "contention"))
        return;
    as_doc_heading(d, "contention", "Other work on the machine");
    as_pick_findings(d, f, "contention");
    as_pick_group(d, f, "contention");
}

const as_section as_sec_contention = {.name = "contention", .order = 70, .write = write_section, .part = AS_PART_APPENDIX};

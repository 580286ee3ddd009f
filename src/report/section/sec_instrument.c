/* sec_instrument.c - the cost of measuring. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "instrument"))
        return;
    as_doc_heading(d, "instrument", "Cost of measuring");
    as_pick_findings(d, f, "instrument");
    as_pick_group(d, f, "instrument");
}

const as_section as_sec_instrument = {.name = "instrument", .order = 90, .write = write_section, .part = AS_PART_APPENDIX};

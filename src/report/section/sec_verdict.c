/* sec_verdict.c - the run in plain sentences. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[] = {"verdict.drift", "verdict.slope", NULL};
    if (!as_facts_group_find(f, "verdict"))
        return;
    as_doc_heading(d, "verdict", "Verdict");
    as_pick_findings(d, f, "verdict");
    as_pick_facts(d, f, AS_BLOCK_FACTS, keys);
}

const as_section as_sec_verdict = {.name = "verdict", .order = 20, .write = write_section, .part = AS_PART_EXECUTIVE};

/* sec_machine.c - the machine, the model, the plan and the software, as the trace noted them. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const all[] = {"", NULL};
    if (!f->n_notes && !as_facts_group_find(f, "roofs"))
        return;
    as_doc_heading(d, "machine", "Machine");
    as_pick_group(d, f, "roofs");
    as_pick_notes(d, f, all);
}

const as_section as_sec_machine = {
    .name = "machine", .order = 100, .write = write_section, .detail = true, .part = AS_PART_APPENDIX};

/* sec_profile.c - compute, memory and hardware under the names that profiling guides use, and the cache model layer by layer. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const groups[] = {"profile.compute", "profile.memory", "profile.hardware", "profile.stream"};
    bool                     begun = false;
    for (size_t i = 0; i < AS_COUNT(groups); i++) {
        const as_fact_group *g = as_facts_group_find(f, groups[i]);
        if (!g)
            continue;
        if (!begun)
            as_doc_heading(d, "profile", "Profile keys");
        begun = true;
        as_doc_text(d, "%s", g->label);
        as_pick_findings(d, f, groups[i]);
        as_pick_group(d, f, groups[i]);
        as_pick_table(d, f, groups[i], "sweep");
        as_pick_table(d, f, groups[i], "caches");
    }
}

const as_section as_sec_profile = {.name = "profile", .order = 82, .write = write_section, .detail = true};

/* sec_recommendations.c - what to try, each with its numbers and the command that proves it; and the three analyses behind. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const analyses[] = {"compute_analysis", "memory_analysis", "hardware_analysis"};
    const as_table          *t = as_facts_table_find(f, "recommendations", "recommendations");
    if (!t && !as_facts_group_find(f, "compute_analysis"))
        return;
    as_doc_heading(d, "recommendations", "What to try, and how to prove it");
    if (t)
        as_pick_table(d, f, "recommendations", "recommendations");
    else
        as_doc_text(d, "No rule found anything to recommend.");
    as_pick_table(d, f, "tries", "tries");
    for (size_t i = 0; i < AS_COUNT(analyses); i++)
        as_pick_group(d, f, analyses[i]);
}

const as_section as_sec_recommendations = {
    .name = "recommendations", .order = 10, .write = write_section, .part = AS_PART_RECOMMENDATIONS};

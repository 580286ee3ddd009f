/* sec_check.c - a suite against its baseline: the verdict, the cases, and how it was decided. */
#include <math.h>

#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[] = {"check.passed",   "check.regressions", "check.improvements",
                                       "check.unstable", "check.failed",      NULL};
    static const char *const rules[] = {"check.threshold", "check.alpha", "check.fdr", "check.e_bh", "check.exit_code", NULL};
    const as_table          *t = as_facts_table_find(f, "check", "cases");
    const assay_metric      *threshold = as_facts_metric(f, "check.threshold");
    if (!t)
        return;
    as_pick_facts(d, f, AS_BLOCK_HERO, keys);
    as_doc_heading(d, "check", "Check");
    as_pick_findings(d, f, "check");
    as_pick_intervals(d, t, "check", "status", threshold ? threshold->value : (double)NAN,
                      "Change of time against the baseline; the band is the threshold");
    as_pick_table(d, f, "check", "cases");
    as_pick_facts(d, f, AS_BLOCK_FACTS, rules);
}

const as_section as_sec_check = {.name = "check", .order = 12, .write = write_section, .part = AS_PART_REGRESSION};

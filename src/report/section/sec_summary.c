/* sec_summary.c - when, where, and the few numbers that answer first. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[] = {"latency.median",       "latency.throughput",    "cost.flop_rate",
                                       "memory.peak_observed", "books.explained_share", NULL};
    /* What the network weighs, apart from how fast it went: parameters, activations and work side by side. */
    static const char *const size_keys[] = {"memory.params", "memory.activations", "cost.flops", NULL};
    const char              *started = as_facts_note_find(f, "trace.started"), *cpu = as_facts_note_find(f, "machine.cpu.model");
    if (started || cpu)
        as_doc_text(d, "%s%s%s", started ? started : "", started && cpu ? " · " : "", cpu ? cpu : "");
    as_pick_findings(d, f, "devices"); /* none where one device ran all */
    as_pick_facts(d, f, AS_BLOCK_HERO, keys);
    as_pick_facts(d, f, AS_BLOCK_HERO, size_keys);
}

const as_section as_sec_summary = {.name = "summary", .order = 10, .write = write_section, .part = AS_PART_NONE};

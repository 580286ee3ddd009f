/* sec_summary.c - when, where, and the most important numbers. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[] = {"latency.median",       "latency.throughput",    "cost.flop_rate",
                                       "memory.peak_observed", "books.explained_share", NULL};
    /* The size of the network, independent of its speed: parameters, activations and work. */
    static const char *const size_keys[] = {"memory.params", "memory.activations", "cost.flops", NULL};
    const char              *started = as_facts_note_find(f, "trace.started"), *cpu = as_facts_note_find(f, "machine.cpu.model");
    if (started || cpu)
        as_doc_text(d, "%s%s%s", started ? started : "", started && cpu ? " · " : "", cpu ? cpu : "");
    as_pick_findings(d, f, "devices"); /* none where one device ran everything */
    as_pick_facts(d, f, AS_BLOCK_HERO, keys);
    as_pick_facts(d, f, AS_BLOCK_HERO, size_keys);
}

const as_section as_sec_summary = {.name = "summary", .order = 10, .write = write_section, .part = AS_PART_NONE};

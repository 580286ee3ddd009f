/* sec_summary.c - the title and the few numbers that answer first. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[] = {"latency.median", "latency.throughput", "cost.flop_rate", "memory.peak_observed", "books.explained_share", NULL};
    const char *started = as_facts_note_find(f, "trace.started"), *cpu = as_facts_note_find(f, "machine.cpu.model");
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_TITLE, .key = "top", .text = *f->title ? f->title : "a run"});
    if (started || cpu)
        as_doc_text(d, "%s%s%s", started ? started : "", started && cpu ? " · " : "", cpu ? cpu : "");
    as_pick_facts(d, f, AS_BLOCK_HERO, keys);
}

const as_section as_sec_summary = {.name = "summary", .order = 10, .write = write_section};

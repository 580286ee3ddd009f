/* sec_metadata.c - what was measured, on what, when and by what: the few lines that a reader of the page of another day needs. */
#include "report/pick.h"

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const keys[][2] = {
        {"model.name", "model"},
        {"plan.batch", "batch size"},
        {"plan.device", "device"},
        {"plan.threads", "threads"},
        {"plan.compile", "compiled"},
        {"plan.weights_as", "weights stored as"},
        {"run.seed", "seed"},
        {"trace.started", "started"},
        {"trace.complete", "record complete"},
        {"machine.cpu.model", "CPU"},
        {"machine.cpu.allowed", "cores"},
        {"machine.memory.bytes", "memory, bytes"},
        {"machine.os", "system"},
        {"machine.hypervisor", "virtual machine"},
        {"machine.fingerprint", "machine's fingerprint"},
        {"software.assay", "assay"},
        {"software.build", "built with"},
        {"roofs.source", "limits"},
    };
    as_fact_note        *notes = AS_TAKE(&d->arena, as_fact_note, AS_COUNT(keys));
    const as_fact_note **pairs = AS_TAKE(&d->arena, const as_fact_note *, AS_COUNT(keys));
    int                  n = 0;
    d->failed |= !notes || !pairs;
    if (!as_facts_group_find(f, "executive"))
        return;
    for (size_t i = 0; notes && pairs && i < AS_COUNT(keys); i++) {
        const char *value = as_facts_note_find(f, keys[i][0]);
        if (!value || !*value)
            continue;
        notes[n] = (as_fact_note){keys[i][1], value};
        pairs[n] = &notes[n];
        n++;
    }
    if (!n)
        return;
    as_doc_heading(d, "metadata", "What was measured");
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_KEYVALUES, .pairs = pairs, .n_pairs = n});
}

const as_section as_sec_metadata = {.name = "metadata", .order = 1, .write = write_section, .part = AS_PART_METADATA};

/* machine.c - the machine sheet of a trace, and the hash that says whether two machines are the same for timing. */
#include <stdio.h>
#include <string.h>

#include "base/plugs.h"
#include "base/text.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

static void note_text(assay_trace *t, const char *key, const as_known_text *fact)
{
    as_trace_add_note(t, key, "%s%s", fact->known ? "" : "unavailable: ", fact->text);
}

static void note_count(assay_trace *t, const char *key, const as_known_count *fact)
{
    if (fact->known)
        as_trace_add_note(t, key, "%llu", (unsigned long long)fact->value);
    else
        as_trace_add_note(t, key, "unavailable: %s", fact->why);
}

static void note_number(assay_trace *t, const char *key, double value)
{
    char number[AS_NUMBER_BYTES];
    as_trace_add_note(t, key, "%s", as_number(number, value));
}

static const as_machine_cache *cache_find(const as_machine *m, int level, const char *type)
{
    for (int i = 0; i < m->n_caches; i++)
        if (m->caches[i].level == level && strcmp(m->caches[i].type, type))
            return &m->caches[i];
    return NULL;
}

static void caches_describe(const as_machine *m, assay_trace *t)
{
    static const struct {
        const char *key;
        int         level;
    } keys[] = {{"machine.cache.l1d", 1}, {"machine.cache.l2", 2}, {"machine.cache.l3", 3}};
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        const as_machine_cache *c = cache_find(m, keys[i].level, "Instruction");
        if (c)
            as_trace_add_note(t, keys[i].key, "%llu", (unsigned long long)c->bytes);
        else
            as_trace_add_note(t, keys[i].key, "unavailable: %s",
                              m->n_caches ? "no cache of this level is reported" : m->caches_why);
    }
    if (m->is_virtual && m->n_caches)
        as_trace_add_note(t, "machine.cache.caution",
                          "reported by a virtual machine, which may not know the real ones or may share them");
}

static void clock_describe(const as_clock *clock, assay_trace *t)
{
    as_trace_add_note(t, "clock.name", "%s", clock->name);
    as_trace_add_note(t, "clock.why", "%s", clock->why);
    note_number(t, "clock.ns_per_tick", clock->ns_per_tick);
    note_number(t, "clock.calibration_spread", clock->calibration_spread);
    note_number(t, "clock.cost_ns", clock->cost_ns);
}

void as_machine_describe(assay_env *env, assay_trace *t)
{
    as_machine m;
    char       fingerprint[17];
    as_machine_read(&m);
    as_machine_fingerprint(fingerprint);
    note_text(t, "machine.cpu.model", &m.model);
    note_text(t, "machine.cpu.vendor", &m.vendor);
    note_count(t, "machine.cpu.cores", &m.cores);
    as_trace_add_note(t, "machine.cpu.allowed", "%d", m.allowed);
    note_text(t, "machine.cpu.isa", &m.isa);
    caches_describe(&m, t);
    note_count(t, "machine.memory.bytes", &m.memory_bytes);
    t->memory_bytes = m.memory_bytes.known ? m.memory_bytes.value : 0;
    note_text(t, "machine.os", &m.os);
    note_text(t, "machine.kernel", &m.kernel);
    note_text(t, "machine.hypervisor", &m.hypervisor);
    note_text(t, "machine.governor", &m.governor);
    note_text(t, "machine.microcode", &m.microcode);
    note_text(t, "machine.boot", &m.boot);
    note_text(t, "machine.loadavg", &m.loadavg);
    as_trace_add_note(t, "machine.fingerprint", "%s", fingerprint);
    if (env)
        clock_describe(&env->clock, t);
    as_trace_add_note(t, "software.assay", "%s", ASSAY_VERSION);
    as_trace_add_note(t, "software.build", "%s", as_build_text);
#if defined(__clang__)
    as_trace_add_note(t, "software.compiler", "%s", __VERSION__);
#else
    as_trace_add_note(t, "software.compiler", "gcc %s", __VERSION__);
#endif
    note_text(t, "software.libc", &m.libc);
}

/* Memory in whole GiB: how much the kernel reserves differs from version to version. */
void as_machine_fingerprint(char out[17])
{
    as_machine m;
    as_text    sheet = {0};
    as_machine_read(&m);
    as_text_printf(&sheet, "%s|%s|%s|%llu|%llu", m.model.known ? m.model.text : "?", m.microcode.known ? m.microcode.text : "?",
                   m.governor.known ? m.governor.text : "?", (unsigned long long)m.cores.value,
                   (unsigned long long)((m.memory_bytes.value + ((uint64_t)1 << 29)) >> 30));
    for (int i = 0; i < m.n_caches; i++)
        as_text_printf(&sheet, "|L%d%s=%llu", m.caches[i].level, m.caches[i].type, (unsigned long long)m.caches[i].bytes);
    snprintf(out, 17, "%016llx", (unsigned long long)as_hash64(sheet.data ? sheet.data : "", sheet.length));
    as_text_drop(&sheet);
}

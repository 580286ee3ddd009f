/* analyse.c - a trace to facts: notes and title, then every analysis by its order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/trace/devices.h"
#include "base/text.h"

/* "mlp-small, batch 1, cpu, 2 threads": what the trace knows of these, in this order.  Where several devices ran it, or not the
 * one asked for, each is listed with its share. */
static void title_make(assay_facts *f, const assay_trace *t)
{
    as_device_shares shares = as_device_shares_read(f, t);
    const char      *title = *t->model ? t->model : "a run";
    if (t->batch)
        title = as_say(f, "%s, batch %" PRIu64, title, t->batch);
    if (*t->device)
        title = as_say(f, "%s, %s", title, as_device_shares_say(f, t, &shares));
    if (t->threads > 0)
        title = as_say(f, "%s, %d %s", title, t->threads, t->threads > 1 ? "threads" : "thread");
    title = as_facts_keep(f, title);
    if (title)
        f->title = title;
}

/* The same in two parts, for a first screen: "resnet18.onnx", and "batch 1 · CPU, 1 thread · Intel Xeon, 2 cores". */
static void heading_make(assay_facts *f, const assay_trace *t)
{
    as_device_shares shares = as_device_shares_read(f, t);
    const char      *cpu = as_trace_note_find(t, "machine.cpu.model"), *device = as_device_shares_say(f, t, &shares);
    const char      *settings = t->batch ? as_say(f, "batch %" PRIu64, t->batch) : "";
    const char      *dot = *settings ? " · " : "";
    if (*t->device)
        settings = as_say(f, "%s%s%s", settings, dot, strcmp(device, "cpu") ? device : "CPU"), dot = " · ";
    if (t->threads > 0)
        settings = as_say(f, "%s, %d %s", settings, t->threads, t->threads > 1 ? "threads" : "thread");
    if (cpu && *cpu)
        settings = as_say(f, "%s%s%s", settings, dot, cpu);
    if (cpu && *cpu && t->cpus > 0)
        settings = as_say(f, "%s, %d %s", settings, t->cpus, t->cpus > 1 ? "cores" : "core");
    as_facts_note(f, AS_NOTE_NAME, *t->model ? t->model : "a run");
    as_facts_note(f, AS_NOTE_SETTINGS, settings);
}

static void notes_copy(assay_facts *f, const assay_trace *t)
{
    char date[AS_DATE_BYTES];
    for (size_t i = 0; i < t->n_notes; i++)
        if (*t->notes[i].key)
            as_facts_note(f, t->notes[i].key, t->notes[i].value);
    if (t->start_unix_ns)
        as_facts_note(
            f, "trace.started",
            as_say(f, "%s UTC", as_date_text(date, sizeof date, (int64_t)(t->start_unix_ns / 1000000000u), AS_DATE_SECOND)));
    if (!as_trace_note_find(t, "clock.name"))
        as_facts_note(f, "clock.name", t->clock_name);
    as_facts_note(f, "trace.complete", t->complete ? "yes" : "no: the record was cut off");
}

static int by_order(const void *a, const void *b)
{
    const as_analysis *x = *(const as_analysis *const *)a, *y = *(const as_analysis *const *)b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : strcmp(x->name, y->name);
}

assay_status assay_analyse(assay_env *env, const assay_trace *trace, assay_facts **out)
{
    size_t n = 0;
    while (as_an_table[n])
        n++;
    assay_facts        *f = as_facts_new(env);
    const as_analysis **order = f ? AS_TAKE(&f->arena, const as_analysis *, n) : NULL;
    if (!order) {
        assay_facts_free(f);
        return as_fail(env, ASSAY_NO_MEMORY, "analysis: not enough memory for facts");
    }
    memcpy(order, as_an_table, n * sizeof *order);
    if (n)
        qsort(order, n, sizeof *order, by_order);
    title_make(f, trace);
    heading_make(f, trace);
    notes_copy(f, trace);
    for (size_t i = 0; i < n && f->status == ASSAY_OK; i++)
        if ((order[i]->of ? order[i]->of : 1u << AS_OF_NETWORK) >> trace->subject & 1)
            order[i]->run(f, trace);
    assay_status status = f->status;
    if (status != ASSAY_OK) {
        assay_facts_free(f);
        return status;
    }
    *out = f;
    return ASSAY_OK;
}

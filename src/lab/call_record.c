/* call_record.c - records a program and tells what was seen, as a call. */
#include <math.h>

#include "base/stage.h"
#include "lab/calls.h"
#include "record/record.h"

static assay_status settings_read(assay_env *env, const char *const *argv, const assay_options *options, as_record_settings *out)
{
    AS_TRY(as_record_settings_read(env, options, out));
    out->argv = argv && argv[0] ? argv : NULL;
    if (out->argv && out->pid)
        return as_fail(env, ASSAY_BAD_INPUT, "record: give a command or --pid, not both");
    if (!out->argv && !out->pid)
        return as_fail(env, ASSAY_BAD_INPUT, "record: needs a command, for example 'assay record -- ls', or --pid PID");
    return ASSAY_OK;
}

assay_status assay_record(assay_env *env, const char *const *argv, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {AS_RECORD_KEYS, NULL};
    as_record_settings       s;
    as_store_options         store;
    assay_trace             *trace = NULL;
    assay_facts             *facts = NULL;
    int64_t                  id;
    AS_TRY(as_options_only(env, options, "record", keys));
    AS_TRY(settings_read(env, argv, options, &s));
    AS_TRY(as_keep_options_read(env, options, &store));
    AS_TRY(as_record_run(env, &s, &trace));
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    assay_status status = assay_analyse(env, trace, &facts);
    if (status == ASSAY_OK) {
        *out = facts;
        const assay_trace *records[1] = {trace};
        status = as_lab_keep(env, &store, "record", trace->name, records, 1, facts, &id);
    }
    if (status == ASSAY_OK && trace->state != AS_TRACE_COMPLETE)
        status = as_fail(env, as_cancelled(env) ? ASSAY_CANCELLED : ASSAY_DEVICE, "record: %s; the %zu %s until then are kept",
                         trace->reason, s.memory ? trace->n_memory_events : trace->n_looks, s.memory ? "events" : "samples");
    if (facts)
        facts->record = trace; /* the caller may want to export it */
    else
        assay_trace_free(trace);
    return status;
}

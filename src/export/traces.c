/* traces.c - traces to files in other tools' formats, as calls. */
#include <string.h>

#include "base/file.h"
#include "export/scene.h"

const as_trace_export *as_trace_export_find(const char *format)
{
    for (const as_trace_export *const *tx = as_tx_table; *tx; tx++)
        if (!strcmp((*tx)->key, format))
            return *tx;
    return NULL;
}

bool as_traces_export_asked(const assay_options *options)
{
    bool asked = false;
    for (const as_trace_export *const *tx = as_tx_table; *tx; tx++)
        asked |= as_options_is_set(options, (*tx)->key);
    return asked;
}

static assay_status file_write(assay_env *env, const as_trace_export *tx, as_scene *v, const char *path)
{
    as_out out;
    AS_TRY(as_out_open(env, path, &out));
    assay_status status = tx->write(env, v, out.file);
    if (status == ASSAY_OK)
        return as_out_commit(env, &out);
    as_out_abandon(&out);
    return status;
}

/* Facts are of all runs, recorded or not. */
static const char *said_of(const as_trace_export *tx, const as_scene *scene)
{
    return tx->scope == AS_SCOPE_TIMELINE ? scene->said : tx->scope == AS_SCOPE_SUMS ? scene->said_sums : "";
}

assay_status as_traces_export(assay_env *env, const assay_trace *const *traces, size_t n, const assay_options *options,
                              as_export_told told, void *arg)
{
    as_scene scene;
    bool     all = as_options_flag(options, "export-all");
    if (!as_traces_export_asked(options))
        return all ? as_fail(env, ASSAY_BAD_INPUT,
                             "--export-all is for --chrome, --perfetto and --speedscope, and none of them is given")
                   : ASSAY_OK;
    if (!n)
        return as_fail(env, ASSAY_BAD_INPUT, "export: there is no trace to write");
    AS_TRY(as_scene_open(env, traces, n, all, &scene));
    assay_status status = ASSAY_OK;
    for (const as_trace_export *const *tx = as_tx_table; *tx && status == ASSAY_OK; tx++) {
        const char *path = as_options_text(options, (*tx)->key);
        if (!path)
            continue;
        status = file_write(env, *tx, &scene, path);
        const char *said = said_of(*tx, &scene);
        if (status == ASSAY_OK && told && *said)
            told(arg, path, said);
    }
    as_scene_drop(&scene);
    return status;
}

assay_status assay_trace_export(assay_env *env, const assay_trace *trace, const char *format, const char *path)
{
    const as_trace_export *tx = as_trace_export_find(format);
    as_scene               scene;
    if (!tx) {
        as_text known = {0};
        for (const as_trace_export *const *one = as_tx_table; *one; one++)
            as_text_printf(&known, "%s%s", known.length ? ", " : "", (*one)->key);
        as_fail(env, ASSAY_BAD_INPUT, "export: unknown format \"%s\"; known: %s", format, known.failed ? "" : known.data);
        as_text_drop(&known);
        return ASSAY_BAD_INPUT;
    }
    AS_TRY(as_scene_open(env, &trace, 1, false, &scene));
    assay_status status = file_write(env, tx, &scene, path);
    as_scene_drop(&scene);
    return status;
}

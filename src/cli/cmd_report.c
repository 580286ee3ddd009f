/* cmd_report.c - traces, run JSON and stored runs as text, JSON, HTML, CSV or Markdown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/stage.h"
#include "base/text.h"
#include "cli/show.h"
#include "lab/calls.h"
#include "report/report.h"
#include "trace/stream.h"

enum { MAX_FILES = 64 };

/* All runs of all files, in the order given. */
typedef struct runs {
    assay_facts **facts;
    size_t        n;
} runs;

/* Takes the list, or frees it. */
static assay_status runs_add(assay_env *env, runs *all, assay_facts **more, size_t n)
{
    assay_facts **grown = realloc(all->facts, (all->n + n) * sizeof *grown);
    if (!grown) {
        assay_facts_free_all(more, n);
        return as_fail(env, ASSAY_NO_MEMORY, "report: not enough memory for %zu runs", all->n + n);
    }
    memcpy(grown + all->n, more, n * sizeof *more);
    free(more); /* the runs themselves are now in `all` */
    all->facts = grown;
    all->n += n;
    return ASSAY_OK;
}

/* A number that is not a file is a run of the store. */
static bool is_run(const char *arg, int64_t *id) { return as_parse_i64(arg, id) && *id > 0 && access(arg, F_OK); }

static assay_status load(as_cli *cli, const char *path, runs *all)
{
    assay_facts **facts = NULL;
    size_t        n = 1;
    int64_t       id;
    as_stage_begin(cli->env, AS_PHASE_READ, path, NAN, 0);
    if (!is_run(path, &id)) {
        AS_TRY(assay_facts_load(cli->env, path, &facts, &n));
        return runs_add(cli->env, all, facts, n);
    }
    facts = calloc(1, sizeof *facts);
    if (!facts)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "report: not enough memory for run %s", path);
    assay_status status = assay_stored_run(cli->env, id, cli->options, facts);
    if (status == ASSAY_OK)
        return runs_add(cli->env, all, facts, 1);
    free(facts);
    return status;
}

/* --- Exports --------------------------------------------------------------------------------------------------- */

typedef struct records {
    const assay_trace **items;
    bool               *owned; /* the others belong to facts */
    size_t              n;
} records;

static assay_status records_add(assay_env *env, records *r, assay_trace *trace, bool owned)
{
    const assay_trace **items = realloc(r->items, (r->n + 1) * sizeof *items);
    r->items = items ? items : r->items;
    bool *flags = realloc(r->owned, (r->n + 1) * sizeof *flags);
    r->owned = flags ? flags : r->owned;
    if (!items || !flags) {
        if (owned)
            assay_trace_free(trace);
        return as_fail(env, ASSAY_NO_MEMORY, "report: not enough memory for %zu traces", r->n + 1);
    }
    r->items[r->n] = trace;
    r->owned[r->n++] = owned;
    return ASSAY_OK;
}

/* A loader keeps the spans of the first runs only: here all of them are wanted. */
static assay_status trace_whole(assay_env *env, const char *path, assay_trace **out)
{
    const as_follow_settings settings = {.kept_spans = (size_t)1 << 40};
    as_trace_follow         *f;
    as_map                   map;
    AS_TRY(as_map_open(env, "report", path, 0, &map));
    assay_status status = as_trace_follow_new(env, path, &settings, &f);
    if (status == ASSAY_OK) {
        status = as_trace_follow_feed(env, f, map.data, map.bytes);
        if (status == ASSAY_OK)
            status = as_trace_follow_finish(env, f, out);
        else
            as_trace_follow_free(f);
    }
    as_map_close(&map);
    return status;
}

/* A list of its own, whose traces change hands. */
static assay_status records_add_all(assay_env *env, records *r, assay_trace **traces, size_t n)
{
    assay_status status = ASSAY_OK;
    for (size_t i = 0; i < n; i++) {
        if (status == ASSAY_OK)
            status = records_add(env, r, traces[i], true);
        else
            assay_trace_free(traces[i]);
    }
    free(traces);
    return status;
}

/* The traces of one argument, whose facts are facts[0] to facts[n - 1]. */
static assay_status records_of(as_cli *cli, const char *arg, assay_facts *const *facts, size_t n, records *r)
{
    assay_trace **stored, *whole;
    size_t        n_stored, before = r->n;
    int64_t       id;
    if (is_run(arg, &id)) {
        AS_TRY(as_stored_traces(cli->env, id, cli->options, &stored, &n_stored));
        AS_TRY(records_add_all(cli->env, r, stored, n_stored));
    } else if (n && facts[0]->record && as_options_flag(cli->options, "export-all")) {
        AS_TRY(trace_whole(cli->env, arg, &whole));
        AS_TRY(records_add(cli->env, r, whole, true));
    } else {
        for (size_t i = 0; i < n; i++) {
            if (facts[i]->record)
                AS_TRY(records_add(cli->env, r, facts[i]->record, false));
            for (size_t k = 0; k < facts[i]->n_trials; k++)
                AS_TRY(records_add(cli->env, r, facts[i]->trials[k], false));
        }
    }
    return r->n > before
               ? ASSAY_OK
               : as_fail(cli->env, ASSAY_BAD_INPUT,
                         "report: %s holds no trace to export; give a trace (profile --trace) or the number of a stored run", arg);
}

static void records_drop(records *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->owned[i])
            assay_trace_free((assay_trace *)r->items[i]);
    free(r->items);
    free(r->owned);
}

static assay_status show(as_cli *cli, const as_report_options *o, const assay_facts *const *facts, size_t n)
{
    if (o->text || !as_cli_forms_asked(o, false))
        AS_TRY(as_cli_text(cli, o, facts, n));
    return as_cli_forms_write(cli, o, facts, n);
}

/* An option that would do nothing is a mistake. */
static assay_status store_check(as_cli *cli)
{
    int64_t id;
    for (int i = 0; i < cli->n_args; i++)
        if (is_run(cli->args[i], &id))
            return ASSAY_OK;
    return as_options_is_set(cli->options, "store")
               ? as_fail(cli->env, ASSAY_BAD_INPUT, "--store says where a run is, and no run is named: assay runs list shows them")
               : ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    runs              all = {0};
    records           list = {0};
    as_report_options o;
    assay_status      status = as_report_options_read(cli->env, cli->options, &o);
    if (status == ASSAY_OK)
        status = store_check(cli);
    as_cli_progress(cli, true);
    for (int i = 0; i < cli->n_args && status == ASSAY_OK; i++) {
        size_t before = all.n;
        status = load(cli, cli->args[i], &all);
        if (status == ASSAY_OK && o.exports)
            status = records_of(cli, cli->args[i], all.facts + before, all.n - before, &list);
    }
    as_cli_progress_end(cli);
    if (status == ASSAY_OK)
        status = show(cli, &o, (const assay_facts *const *)all.facts, all.n);
    if (status == ASSAY_OK && o.exports)
        status = as_cli_export(cli, list.items, list.n);
    records_drop(&list);
    assay_facts_free_all(all.facts, all.n);
    return status;
}

const as_verb as_cmd_report = {
    .name = "report",
    .summary = "traces, run JSON and stored runs as text, HTML, Markdown, CSV or JSON",
    .usage = "FILE|RUN... [options]",
    .details =
        "Reads traces (profile --trace) and run JSON (profile --json, one run or several) and writes them in another form.  A trace that\n"
        "was cut short by a crash gives what it holds, marked partial.  A number is a stored run (assay runs list).",
    .example = "assay profile mlp-small --time 200ms --trace t.trace && assay report t.trace --html report.html",
    .needs = "a trace, a run JSON or the number of a stored run, for example t.trace",
    .group = AS_VERBS_LOOK,
    .order = 4,
    .takes = AS_ARG_FILE,
    .min_args = 1,
    .max_args = MAX_FILES,
    .options = AS_OPTIONS("text", "store", "by", AS_REPORT_KEYS, AS_EXPORT_KEYS),
    .run = run,
};

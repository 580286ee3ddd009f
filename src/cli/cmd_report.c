/* cmd_report.c - traces, run JSON and stored runs as text, JSON, HTML, CSV or Markdown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/stage.h"
#include "cli/show.h"
#include "report/report.h"

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
    as_report_options o;
    assay_status      status = as_report_options_read(cli->env, cli->options, &o);
    if (status == ASSAY_OK)
        status = store_check(cli);
    as_cli_progress(cli, true);
    for (int i = 0; i < cli->n_args && status == ASSAY_OK; i++)
        status = load(cli, cli->args[i], &all);
    as_cli_progress_end(cli);
    if (status == ASSAY_OK)
        status = show(cli, &o, (const assay_facts *const *)all.facts, all.n);
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
    .options = AS_OPTIONS("text", "store", "by", AS_REPORT_KEYS),
    .run = run,
};

/* cmd_runs.c - housekeeping of the stored runs: list, show, trace, rm, export, import, verify. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/show.h"
#include "lab/baseline.h"
#include "report/report.h"
#include "store/store.h"

enum { MAX_RUNS = 4096, MAX_SHOWN = 18 }; /* on one command line; on one screen */

typedef struct errand {
    as_cli   *cli;
    as_store *store;
    as_arena  arena;
    int64_t  *ids;
    size_t    n_ids;
} errand;

/* --- list --------------------------------------------------------------------------------------------------------- */

static void list_json(const as_stored_run *runs, size_t n, const char *path, FILE *file)
{
    as_json w;
    as_json_start(&w, file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.runs-list/1");
    as_json_key_text(&w, "store", path);
    as_json_key(&w, "runs");
    as_json_array(&w);
    for (size_t i = 0; i < n; i++) {
        as_json_object(&w);
        as_json_key_i64(&w, "id", runs[i].id);
        as_json_key_i64(&w, "unix_time", runs[i].unix_time);
        as_json_key_text(&w, "kind", runs[i].kind);
        as_json_key_text(&w, "state", runs[i].state);
        as_json_key_i64(&w, "n_trials", runs[i].n_trials);
        as_json_key_text(&w, "commit", runs[i].commit);
        as_json_key_text(&w, "fingerprint", runs[i].fingerprint);
        as_json_key_text(&w, "title", runs[i].title);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
}

static void list_text(const as_stored_run *runs, size_t n, const char *path)
{
    char when[32];
    if (!n) {
        printf("%s holds no runs\n", path);
        return;
    }
    printf("%6s  %-19s  %-8s  %-8s  %6s  %-10s  %s\n", "id", "when (UTC)", "kind", "state", "trials", "commit", "title");
    for (size_t i = 0; i < n; i++)
        printf("%6lld  %-19s  %-8s  %-8s  %6lld  %-10.10s  %s\n", (long long)runs[i].id,
               as_date_text(when, sizeof when, runs[i].unix_time, AS_DATE_SECOND), runs[i].kind, runs[i].state,
               (long long)runs[i].n_trials, *runs[i].commit ? runs[i].commit : "-", runs[i].title);
}

/* The newest of them. */
static assay_status list_basic(errand *e, const as_stored_run *runs, size_t n)
{
    static const char *const columns[] = {"  id  when (UTC)", "kind", "state", "commit", "title", NULL};
    as_report_options        o;
    as_brief                 b = {.title = "stored runs", .settings = as_store_path(e->store), .level = AS_LEVEL_NOTE};
    char                     when[AS_DATE_BYTES];
    size_t                   shown = n > MAX_SHOWN + 1 ? MAX_SHOWN : n;
    AS_TRY(as_report_options_read(e->cli->env, e->cli->options, &o));
    as_brief_table *t = as_brief_table_add(&b, columns);
    t->left[1] = t->left[2] = t->left[3] = t->left[4] = true;
    for (size_t i = 0; i < shown; i++) {
        as_date_text(when, sizeof when, runs[i].unix_time, AS_DATE_MINUTE);
        as_brief_row *row = as_brief_row_add(&b, t, as_brief_say(&b, "%4lld  %s", (long long)runs[i].id, when));
        row->cells[1] = runs[i].kind;
        row->cells[2] = runs[i].state;
        row->cells[3] = *runs[i].commit ? as_brief_say(&b, "%.8s", runs[i].commit) : "-";
        row->cells[4] = runs[i].title;
    }
    if (shown < n)
        t->note = as_brief_say(&b, "%zu older: --all", n - shown);
    as_brief_hint_add(&b, "assay runs show ID", "its report");
    as_brief_hint_add(&b, "assay history", "cases over time");
    return as_cli_brief(e->cli, &o, &b);
}

static assay_status list(errand *e)
{
    as_stored_run *runs;
    size_t         n;
    as_out         out;
    const char    *path = as_options_text(e->cli->options, "json");
    AS_TRY(as_store_list_runs(e->cli->env, e->store, NULL, 0, &e->arena, &runs, &n));
    if (!path && n && !as_options_flag(e->cli->options, "all"))
        return list_basic(e, runs, n);
    if (!path) {
        list_text(runs, n, as_store_path(e->store));
        return ASSAY_OK;
    }
    AS_TRY(as_out_open(e->cli->env, path, &out));
    list_json(runs, n, as_store_path(e->store), out.file);
    return as_out_commit(e->cli->env, &out);
}

/* --- show --------------------------------------------------------------------------------------------------------- */

static assay_status report_show(errand *e, const as_report_options *o, const as_stored_run *run)
{
    assay_facts **facts;
    size_t        n;
    char          what[64];
    snprintf(what, sizeof what, "run %lld", (long long)run->id);
    AS_TRY(as_facts_parse_all(e->cli->env, what, run->report, strlen(run->report), &facts, &n));
    assay_status status = as_cli_text(e->cli, o, (const assay_facts *const *)facts, n);
    as_facts_free_all(facts, n);
    return status;
}

static assay_status show(errand *e)
{
    as_stored_run     run;
    as_report_options o;
    char              when[AS_DATE_BYTES];
    AS_TRY(as_report_options_read(e->cli->env, e->cli->options, &o));
    AS_TRY(as_store_get_run(e->cli->env, e->store, e->ids[0], &e->arena, &run));
    if (o.json && *run.report)
        return as_file_write(e->cli->env, o.json, run.report, strlen(run.report));
    if (o.json)
        return as_fail(e->cli->env, ASSAY_NOT_FOUND, "run %lld has no report; assay runs export writes what it has",
                       (long long)run.id);
    printf("run %lld: %s\n", (long long)run.id, run.title);
    printf("%s UTC, %s, %s, %lld %s, machine %s", as_date_text(when, sizeof when, run.unix_time, AS_DATE_SECOND), run.kind,
           run.state, (long long)run.n_trials, run.n_trials == 1 ? "trial" : "trials", run.fingerprint);
    printf(o.amount == AS_AMOUNT_DETAILED ? "%s%s\n" : "%s%.8s\n", *run.commit ? ", commit " : "", run.commit);
    if (!*run.report)
        return ASSAY_OK;
    printf("\n");
    return report_show(e, &o, &run);
}

/* --- trace --------------------------------------------------------------------------------------------------------- */

/* The record of one trial as a file of its own, which `report` and every other reader of traces takes. */
static assay_status trace(errand *e)
{
    as_stored_run run;
    const void   *bytes;
    size_t        n;
    int64_t       place = 1;
    assay_env    *env = e->cli->env;
    AS_TRY(as_store_get_run(env, e->store, e->ids[0], &e->arena, &run));
    if (e->cli->n_args > 3 ? !as_parse_i64(e->cli->args[3], &place) || place < 1 || place > run.n_trials : run.n_trials != 1)
        return as_fail(env, ASSAY_BAD_INPUT, "run %lld has %lld %s: say which as the last word, from 1 on", (long long)run.id,
                       (long long)run.n_trials, run.n_trials == 1 ? "record" : "records");
    AS_TRY(as_store_get_record(env, e->store, e->ids[0], (size_t)place - 1, &e->arena, &bytes, &n));
    return as_file_write(env, e->cli->args[2], bytes, n);
}

/* --- rm, export, import ---------------------------------------------------------------------------------------------- */

static assay_status rm(errand *e)
{
    AS_TRY(as_store_remove_runs(e->cli->env, e->store, e->ids, e->n_ids));
    printf("removed %zu %s\n", e->n_ids, e->n_ids == 1 ? "run" : "runs");
    return ASSAY_OK;
}

static assay_status ids_take(errand *e, size_t n)
{
    e->ids = AS_TAKE(&e->arena, int64_t, n);
    return e->ids ? ASSAY_OK : as_fail(e->cli->env, ASSAY_NO_MEMORY, "no room for %zu ids", n);
}

static assay_status ids_all(errand *e)
{
    as_stored_run *runs;
    size_t         n;
    AS_TRY(as_store_list_runs(e->cli->env, e->store, NULL, 0, &e->arena, &runs, &n));
    AS_TRY(ids_take(e, n));
    for (size_t i = 0; i < n; i++)
        e->ids[i] = runs[n - 1 - i].id; /* oldest first, so that ids come in the same order where they go */
    e->n_ids = n;
    return ASSAY_OK;
}

static assay_status export(errand *e)
{
    as_out      out;
    const char *path = as_options_text(e->cli->options, "json");
    if (!e->n_ids)
        AS_TRY(ids_all(e));
    AS_TRY(as_out_open(e->cli->env, path ? path : "-", &out));
    assay_status status = as_store_export(e->cli->env, e->store, e->ids, e->n_ids, out.file);
    if (status == ASSAY_OK)
        return as_out_commit(e->cli->env, &out);
    as_out_abandon(&out);
    return status;
}

static assay_status import(errand *e)
{
    size_t n_added, n_known;
    AS_TRY(as_store_import(e->cli->env, e->store, e->cli->args[1], &n_added, &n_known));
    printf("added %zu %s to %s; %zu %s there already\n", n_added, n_added == 1 ? "run" : "runs", as_store_path(e->store), n_known,
           n_known == 1 ? "was" : "were");
    return ASSAY_OK;
}

/* --- verify ------------------------------------------------------------------------------------------------------------ */

/* What a check would run: the programs, models and data of every baseline. */
static assay_status objects_verify(errand *e, const char *name, size_t *n)
{
    as_baseline *b;
    char         path[4352];
    AS_TRY(as_baseline_load(e->cli->env, e->store, name, &b));
    assay_status status = ASSAY_OK;
    for (int i = 0; i < b->n_cases; i++) {
        const as_baseline_case *c = &b->cases[i];
        for (int k = 0; k < c->n_objects + c->n_beside && status == ASSAY_OK; k++, ++*n)
            status = as_store_get_object(e->cli->env, e->store,
                                         k < c->n_objects ? c->objects[k].id : c->beside[k - c->n_objects].id, path, sizeof path);
    }
    as_baseline_free(b);
    return status;
}

static assay_status verify(errand *e)
{
    size_t    n_runs, n_named, n_objects = 0;
    as_named *named;
    AS_TRY(as_store_verify(e->cli->env, e->store, &n_runs));
    AS_TRY(as_store_list_named(e->cli->env, e->store, "baseline", &e->arena, &named, &n_named));
    for (size_t i = 0; i < n_named; i++)
        AS_TRY(objects_verify(e, named[i].name, &n_objects));
    printf("%s is whole: %zu %s, %zu %s with %zu %s\n", as_store_path(e->store), n_runs, n_runs == 1 ? "run" : "runs", n_named,
           n_named == 1 ? "baseline" : "baselines", n_objects, n_objects == 1 ? "object" : "objects");
    return ASSAY_OK;
}

/* --- Which of them ------------------------------------------------------------------------------------------------------ */

static const struct word {
    const char *name, *usage;
    int         min_args, max_args; /* beside the word itself */
    int         most_ids;           /* so many of them, from the first on, are ids */
    bool        takes_json, creates;
    assay_status (*run)(errand *e);
} words[] = {
    {"list", "list", 0, 0, 0, true, false, list},
    {"show", "show ID", 1, 1, 1, true, false, show},
    {"trace", "trace ID FILE [N]", 2, 3, 1, false, false, trace},
    {"rm", "rm ID...", 1, MAX_RUNS, MAX_RUNS, false, false, rm},
    {"export", "export [ID...] [--json FILE|-]", 0, MAX_RUNS, MAX_RUNS, true, false, export},
    {"import", "import FILE", 1, 1, 0, false, true, import},
    {"verify", "verify", 0, 0, 0, false, false, verify},
};

static assay_status word_find(as_cli *cli, const struct word **out)
{
    const char *names[AS_COUNT(words) + 1] = {NULL};
    for (size_t i = 0; i < AS_COUNT(words); i++) {
        names[i] = words[i].name;
        if (!strcmp(words[i].name, cli->args[0])) {
            *out = &words[i];
            return ASSAY_OK;
        }
    }
    const char *near = as_nearest(cli->args[0], names);
    return as_fail(cli->env, ASSAY_BAD_INPUT,
                   "'%s' is nothing to do with runs%s%s%s: list, show, trace, rm, export, import or verify", cli->args[0],
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static assay_status arguments_read(errand *e, const struct word *word)
{
    as_cli *cli = e->cli;
    int     n = cli->n_args - 1;
    if (n < word->min_args || n > word->max_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "%s: usage: assay runs %s",
                       n < word->min_args ? "something is missing" : "too many arguments", word->usage);
    if (as_options_is_set(cli->options, "json") && !word->takes_json)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--json goes with runs list, show and export, and not with %s", word->name);
    if (as_options_flag(cli->options, "all") && word->run != list)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--all goes with runs list, and not with %s", word->name);
    if (as_options_is_set(cli->options, "report") && word->run != show)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--report goes with runs show, and not with %s", word->name);
    AS_TRY(ids_take(e, (size_t)n));
    for (int i = 1; i <= n && i <= word->most_ids; i++)
        if (!as_parse_i64(cli->args[i], &e->ids[e->n_ids++]) || e->ids[e->n_ids - 1] < 1)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "'%s' is no id of a run; assay runs list shows them", cli->args[i]);
    return ASSAY_OK;
}

static assay_status run_word(errand *e, const struct word *word)
{
    as_store_options where;
    AS_TRY(as_store_options_read(e->cli->env, e->cli->options, &where));
    AS_TRY(arguments_read(e, word));
    if (where.none)
        return as_fail(e->cli->env, ASSAY_BAD_INPUT, "runs needs a store, and --store none says that there is none");
    AS_TRY(as_store_open(e->cli->env, where.url, word->creates, &e->store));
    assay_status status = word->run(e);
    as_store_close(e->store);
    return status;
}

static assay_status run(as_cli *cli)
{
    const struct word *word = NULL;
    errand             e = {.cli = cli};
    AS_TRY(word_find(cli, &word));
    assay_status status = run_word(&e, word);
    as_arena_drop(&e.arena);
    return status;
}

const as_verb as_cmd_runs = {
    .name = "runs",
    .summary = "the stored runs: list, show, remove, carry to another store, verify",
    .usage = "list | show ID | trace ID FILE [N] | rm ID... | export [ID...] | import FILE | verify [options]",
    .details =
        "What profile, bench, compare, check, baseline and noise have measured is kept in .assay/runs.db below the working directory, or where --store says.\n"
        "trace writes the record of one case as a file for assay report; export writes runs with all their records as one JSON file (all runs when no ID is given); import reads it into a store and\n"
        "leaves out what is there already.  A run that a baseline stands on cannot be removed.  verify reads all of the store: every page, every run\n"
        "against its hash, every object of a baseline against its name.",
    .example = "assay bench softmax --sizes 64x64 --budget 200ms && assay runs list",
    .min_args = 1,
    .max_args = MAX_RUNS,
    .options = AS_OPTIONS("store", "all", "json", "report"),
    .run = run,
};

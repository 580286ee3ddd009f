/* cmd_runs.c - housekeeping of the stored runs: list, show, trace, rm, export, import, verify. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/screen.h"
#include "cli/show.h"
#include "lab/calls.h"
#include "report/report.h"

enum { MAX_RUNS = 4096, MAX_SHOWN = 18 }; /* on one command line; on one screen */

typedef struct errand {
    as_cli  *cli;
    as_arena arena;
    int64_t *ids;
    size_t   n_ids;
} errand;

/* As readers know it. */
static const char *store_name(const errand *e)
{
    const char *name = as_options_text(e->cli->options, "store");
    return name && *name ? name : ".assay/runs.db";
}

static const char *plural(size_t n, const char *one, const char *many) { return n == 1 ? one : many; }

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
static assay_status list_basic(errand *e, const as_store *store, const as_stored_run *runs, size_t n)
{
    static const char *const columns[] = {"  id  when (UTC)", "kind", "state", "commit", "title", NULL};
    as_report_options        o;
    as_brief                 b = {.title = "stored runs", .settings = as_store_path(store), .level = AS_LEVEL_NOTE};
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

static assay_status list_from(errand *e, as_store *store)
{
    as_stored_run *runs;
    size_t         n;
    as_out         out;
    const char    *path = as_options_text(e->cli->options, "json");
    AS_TRY(as_store_list_runs(e->cli->env, store, NULL, 0, &e->arena, &runs, &n));
    if (!path && n && !as_options_flag(e->cli->options, "all"))
        return list_basic(e, store, runs, n);
    if (!path) {
        list_text(runs, n, as_store_path(store));
        return ASSAY_OK;
    }
    AS_TRY(as_out_open(e->cli->env, path, &out));
    list_json(runs, n, as_store_path(store), out.file);
    return as_out_commit(e->cli->env, &out);
}

static assay_status list(errand *e)
{
    as_store *store;
    AS_TRY(as_call_store(e->cli->env, "runs list", e->cli->options, &store));
    assay_status status = list_from(e, store);
    as_store_close(store);
    return status;
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
    assay_facts_free_all(facts, n);
    return status;
}

static assay_status run_read(errand *e, as_stored_run *run)
{
    as_store *store;
    AS_TRY(as_call_store(e->cli->env, "runs show", e->cli->options, &store));
    assay_status status = as_store_get_run(e->cli->env, store, e->ids[0], &e->arena, run);
    as_store_close(store);
    return status;
}

static assay_status show(errand *e)
{
    as_stored_run     run;
    as_report_options o;
    char              when[AS_DATE_BYTES];
    AS_TRY(as_report_options_read(e->cli->env, e->cli->options, &o));
    AS_TRY(run_read(e, &run));
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

/* Writes the record of one trial to a file, which `report` and every other reader of traces can read. */
static assay_status trace(errand *e)
{
    assay_env   *env = e->cli->env;
    assay_trace *t;
    const char  *word = e->cli->n_args > 3 ? e->cli->args[3] : NULL;
    int64_t      place = 0;
    if (word && (!as_parse_i64(word, &place) || place < 1))
        return as_fail(env, ASSAY_BAD_INPUT, "'%s' is not the number of a record: they count from 1 on", word);
    AS_TRY(assay_stored_trace(env, e->ids[0], (size_t)place, e->cli->options, &t));
    assay_status status = assay_trace_save(env, t, e->cli->args[2]);
    assay_trace_free(t);
    return status;
}

/* --- rm, export, import, verify ----------------------------------------------------------------------------------------- */

static assay_status rm(errand *e)
{
    AS_TRY(assay_stored_remove(e->cli->env, e->ids, e->n_ids, e->cli->options));
    printf("removed %zu %s\n", e->n_ids, plural(e->n_ids, "run", "runs"));
    return ASSAY_OK;
}

static assay_status export(errand *e)
{
    const char *path = as_options_text(e->cli->options, "json");
    return assay_stored_export(e->cli->env, e->ids, e->n_ids, e->cli->options, path ? path : "-");
}

static assay_status import(errand *e)
{
    size_t n_added, n_known;
    AS_TRY(assay_stored_import(e->cli->env, e->cli->args[1], e->cli->options, &n_added, &n_known));
    printf("added %zu %s to %s; %zu %s there already\n", n_added, plural(n_added, "run", "runs"), store_name(e), n_known,
           plural(n_known, "was", "were"));
    return ASSAY_OK;
}

static assay_status verify(errand *e)
{
    assay_store_counts n;
    AS_TRY(assay_stored_verify(e->cli->env, e->cli->options, &n));
    printf("%s is whole: %zu %s, %zu %s with %zu %s\n", store_name(e), n.runs, plural(n.runs, "run", "runs"), n.baselines,
           plural(n.baselines, "baseline", "baselines"), n.objects, plural(n.objects, "object", "objects"));
    return ASSAY_OK;
}

/* --- Which of them ------------------------------------------------------------------------------------------------------ */

static const struct word {
    const char *name, *usage;
    int         min_args, max_args; /* beside the word itself */
    int         most_ids;           /* this many of the first arguments are ids */
    bool        takes_json;
    assay_status (*run)(errand *e);
} words[] = {
    {"list", "list", 0, 0, 0, true, list},
    {"show", "show ID", 1, 1, 1, true, show},
    {"trace", "trace ID FILE [N]", 2, 3, 1, false, trace},
    {"rm", "rm ID...", 1, MAX_RUNS, MAX_RUNS, false, rm},
    {"export", "export [ID...] [--json FILE|-]", 0, MAX_RUNS, MAX_RUNS, true, export},
    {"import", "import FILE", 1, 1, 0, false, import},
    {"verify", "verify", 0, 0, 0, false, verify},
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
        return as_fail(cli->env, ASSAY_BAD_INPUT, "runs %s %s: type assay runs %s", word->name,
                       n < word->min_args ? "needs more arguments" : "has too many arguments", word->usage);
    if (as_options_is_set(cli->options, "json") && !word->takes_json)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--json goes with runs list, show and export, and not with %s", word->name);
    if (as_options_flag(cli->options, "all") && word->run != list)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--all goes with runs list, and not with %s", word->name);
    if (as_options_is_set(cli->options, "report") && word->run != show)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--report goes with runs show, and not with %s", word->name);
    e->ids = AS_TAKE(&e->arena, int64_t, n);
    if (!e->ids)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "not enough memory for %d ids", n);
    for (int i = 1; i <= n && i <= word->most_ids; i++)
        if (!as_parse_i64(cli->args[i], &e->ids[e->n_ids++]) || e->ids[e->n_ids - 1] < 1)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "'%s' is not an id of a run; assay runs list shows them", cli->args[i]);
    return ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    const struct word *word = NULL;
    as_store_options   where;
    errand             e = {.cli = cli};
    AS_TRY(word_find(cli, &word));
    AS_TRY(as_store_options_read(cli->env, cli->options, &where));
    assay_status status = arguments_read(&e, word);
    if (status == ASSAY_OK && where.none)
        status = as_fail(cli->env, ASSAY_BAD_INPUT, "runs needs a store, and --store none says that there is none");
    if (status == ASSAY_OK)
        status = word->run(&e);
    as_arena_drop(&e.arena);
    return status;
}

const as_verb as_cmd_runs = {
    .name = "runs",
    .summary = "stored runs: list, show, remove, move to another store, verify",
    .usage = "list | show ID | trace ID FILE [N] | rm ID... | export [ID...] | import FILE | verify [options]",
    .details =
        "profile, bench, compare, check, baseline and noise keep what they measure in .assay/runs.db below the working directory, or where\n"
        "--store says.  trace writes the record of one case as a file for assay report; export writes runs with all their records as one\n"
        "JSON file (all runs when no ID is given); import reads such a file and skips runs that are already there.  A run that a baseline\n"
        "stands on cannot be removed.  verify reads the whole store: every page, every run against its hash, every object of a baseline\n"
        "against its name.",
    .example = "assay bench softmax --sizes 64x64 --budget 200ms && assay runs list",
    .needs = "one of the words list, show, trace, rm, export, import and verify, for example: assay runs list",
    .group = AS_VERBS_HOUSE,
    .order = 2,
    .takes = AS_ARG_WORD,
    .words = "list show trace rm export import verify",
    .min_args = 1,
    .max_args = MAX_RUNS,
    .options = AS_OPTIONS("store", "all", "json", "report"),
    .run = run,
};

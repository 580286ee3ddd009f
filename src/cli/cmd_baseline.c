/* cmd_baseline.c - baselines: named programs and models that can be run again. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/show.h"
#include "lab/baseline.h"
#include "lab/calls.h"

enum { MAX_SHOWN = 18, MAX_CASES = 13 }; /* on one screen */

static assay_status json_write(as_cli *cli, const as_baseline *b, const char *path)
{
    as_out  out;
    as_json w;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_json_start(&w, out.file, true);
    as_baseline_write(b, &w);
    as_json_finish(&w);
    return as_out_commit(cli->env, &out);
}

static assay_status subject_read(as_cli *cli, as_baseline_wish *out)
{
    as_texts bins = as_options_texts(cli->options, "bin");
    *out = (as_baseline_wish){.name = cli->args[1], .what = cli->args + 2, .n = (size_t)cli->n_args - 2};
    if (!bins.n)
        return ASSAY_OK;
    if (cli->n_args > 2)
        return as_fail(cli->env, ASSAY_BAD_INPUT,
                       "baseline save: %s beside --bin: save models and programs under names of their own", cli->args[2]);
    *out = (as_baseline_wish){.name = cli->args[1], .what = bins.items, .n = bins.n, .programs = true};
    return ASSAY_OK;
}

static assay_status save(as_cli *cli)
{
    as_baseline_wish wish;
    as_baseline     *b;
    const char      *json = as_options_text(cli->options, "json");
    AS_TRY(subject_read(cli, &wish));
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status status = as_baseline_make(cli->env, &wish, cli->options, &b);
    as_cli_progress_end(cli);
    AS_TRY(status);
    if (!(json && !strcmp(json, "-")))
        printf("saved baseline %s: %d case%s\n", b->name, b->n_cases, b->n_cases == 1 ? "" : "s");
    if (json)
        status = json_write(cli, b, json);
    as_baseline_free(b);
    return status;
}

static void list_json(const as_named *all, size_t n, FILE *file)
{
    as_json w;
    as_json_start(&w, file, true);
    as_json_array(&w);
    for (size_t i = 0; i < n; i++) {
        as_json_object(&w);
        as_json_key_text(&w, "name", all[i].name);
        as_json_key_i64(&w, "unix_time", all[i].unix_time);
        as_json_key_i64(&w, "run", all[i].run);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_finish(&w);
}

static void list_text(const as_named *all, size_t n)
{
    char when[AS_DATE_BYTES];
    for (size_t i = 0; i < n; i++)
        printf("%-24s %s UTC  run %lld\n", all[i].name, as_date_text(when, sizeof when, all[i].unix_time, AS_DATE_MINUTE),
               (long long)all[i].run);
    if (!n)
        printf("no baselines; assay baseline save NAME MODEL makes one\n");
}

/* By name, as many as fit on one screen. */
static assay_status list_basic(as_cli *cli, const as_named *all, size_t n)
{
    static const char *const columns[] = {"Baseline", "saved (UTC)", "run", NULL};
    as_report_options        o;
    as_brief                 b = {.title = "baselines", .settings = "", .level = AS_LEVEL_NOTE};
    char                     when[AS_DATE_BYTES];
    size_t                   shown = n > MAX_SHOWN + 1 ? MAX_SHOWN : n;
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    as_brief_table *t = as_brief_table_add(&b, columns);
    t->left[1] = true;
    for (size_t i = 0; i < shown; i++) {
        as_brief_row *row = as_brief_row_add(&b, t, all[i].name);
        row->cells[1] = as_brief_say(&b, "%s", as_date_text(when, sizeof when, all[i].unix_time, AS_DATE_MINUTE));
        row->cells[2] = as_brief_say(&b, "%lld", (long long)all[i].run);
    }
    if (shown < n)
        t->note = as_brief_say(&b, "%zu more: --all", n - shown);
    as_brief_hint_add(&b, "assay baseline show NAME", "its cases");
    as_brief_hint_add(&b, "assay check --baseline NAME", "slower?");
    return as_cli_brief(cli, &o, &b);
}

static assay_status list_all(as_cli *cli, as_store *store, as_arena *arena)
{
    as_named   *all;
    size_t      n;
    as_out      out;
    const char *json = as_options_text(cli->options, "json");
    AS_TRY(as_store_list_named(cli->env, store, "baseline", arena, &all, &n));
    if (!json && n && !as_options_flag(cli->options, "all"))
        return list_basic(cli, all, n);
    if (!json) {
        list_text(all, n);
        return ASSAY_OK;
    }
    AS_TRY(as_out_open(cli->env, json, &out));
    list_json(all, n, out.file);
    return as_out_commit(cli->env, &out);
}

static assay_status list(as_cli *cli)
{
    as_arena  arena = {0};
    as_store *store;
    AS_TRY(as_call_store(cli->env, "baseline list", cli->options, &store));
    assay_status status = list_all(cli, store, &arena);
    as_arena_drop(&arena);
    as_store_close(store);
    return status;
}

static assay_status show_basic(as_cli *cli, const as_report_options *o, const as_baseline *saved)
{
    static const char *const columns[] = {"Case", "lower quartile", "peak memory", "files kept", NULL};
    as_brief                 b = {.title = saved->name, .settings = saved->description, .level = AS_LEVEL_NOTE};
    char                     text[64];
    int                      shown = saved->n_cases > MAX_CASES + 1 ? MAX_CASES : saved->n_cases;
    as_brief_number_add(&b, "Saved", NULL,
                        as_brief_say(&b, "%s", as_date_text(text, sizeof text, saved->unix_time, AS_DATE_MINUTE)),
                        as_brief_say(&b, "UTC, run %lld", (long long)saved->run));
    as_brief_number_add(&b, "Commit", NULL, *saved->commit ? as_brief_say(&b, "%.12s", saved->commit) : "-", "");
    as_brief_number_add(&b, "Machine", NULL, saved->fingerprint, "");
    as_brief_table *t = as_brief_table_add(&b, columns);
    for (int i = 0; i < shown; i++) {
        const as_baseline_case *c = &saved->cases[i];
        as_brief_row           *row = as_brief_row_add(&b, t, c->name);
        row->cells[1] = as_brief_say(&b, "%s", as_show(text, sizeof text, c->p25_ns, "ns"));
        row->cells[2] = as_brief_say(&b, "%s", as_show(text, sizeof text, c->peak_bytes, "byte"));
        row->cells[3] = as_brief_say(&b, "%d", c->n_objects + c->n_beside);
    }
    if (shown < saved->n_cases)
        t->note = as_brief_say(&b, "%d more: --report detailed", saved->n_cases - shown);
    as_brief_hint_add(&b, "--report detailed", "every file");
    as_brief_hint_add(&b, as_brief_say(&b, "assay check --baseline %s", saved->name), "slower?");
    return as_cli_brief(cli, o, &b);
}

static assay_status show(as_cli *cli)
{
    as_baseline      *b;
    as_store         *store;
    as_report_options o;
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    if (o.json || o.amount == AS_AMOUNT_DETAILED)
        return assay_baseline_write(cli->env, cli->args[1], cli->options, o.json ? "json" : "text", o.json ? o.json : "-");
    AS_TRY(as_call_store(cli->env, "baseline show", cli->options, &store));
    assay_status status = as_baseline_load(cli->env, store, cli->args[1], &b);
    as_store_close(store);
    AS_TRY(status);
    status = show_basic(cli, &o, b);
    as_baseline_free(b);
    return status;
}

static assay_status remove_it(as_cli *cli)
{
    size_t n;
    AS_TRY(as_baseline_drop(cli->env, cli->args[1], cli->options, &n));
    printf("removed baseline %s and %zu object%s that nothing else needs\n", cli->args[1], n, n == 1 ? "" : "s");
    return ASSAY_OK;
}

static assay_status promote(as_cli *cli)
{
    AS_TRY(assay_baseline_promote(cli->env, cli->args[1], cli->args[2], cli->options));
    printf("baseline %s is now %s\n", cli->args[1], cli->args[2]);
    return ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    static const struct {
        const char *word;
        int         min_args, max_args;
        const char *usage;
        bool        takes_json;
        assay_status (*run)(as_cli *);
    } words[] = {{"save", 2, 66, "save NAME [MODEL... | --suite FILE | --bin CMD]", true, save},
                 {"list", 1, 1, "list", true, list},
                 {"show", 2, 2, "show NAME", true, show},
                 {"promote", 3, 3, "promote FROM TO", false, promote},
                 {"rm", 2, 2, "rm NAME", false, remove_it}};
    for (size_t i = 0; i < AS_COUNT(words); i++) {
        if (strcmp(cli->args[0], words[i].word))
            continue;
        if (cli->n_args < words[i].min_args || cli->n_args > words[i].max_args)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "baseline %s %s: type assay baseline %s", words[i].word,
                           cli->n_args < words[i].min_args ? "needs more arguments" : "has too many arguments", words[i].usage);
        if (as_options_is_set(cli->options, "json") && !words[i].takes_json)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--json goes with baseline save, list and show, and not with %s",
                           words[i].word);
        if (as_options_flag(cli->options, "all") && words[i].run != list)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--all goes with baseline list, and not with %s", words[i].word);
        if (as_options_is_set(cli->options, "report") && words[i].run != show)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--report goes with baseline show, and not with %s", words[i].word);
        return words[i].run(cli);
    }
    return as_fail(cli->env, ASSAY_BAD_INPUT, "baseline: '%s' is none of save, list, show, promote, rm", cli->args[0]);
}

const as_verb as_cmd_baseline = {
    .name = "baseline",
    .summary = "keep programs and models under a name, to check against later",
    .usage = "save NAME [MODEL... | --suite FILE | --bin CMD] | list | show NAME | promote FROM TO | rm NAME  [options]",
    .details =
        "A baseline keeps the program itself (assay, or yours) and the model file, with samples, counts and a description of the machine;\n"
        "`assay check` runs it again, in turns with today's.  save measures every case once (--budget, 1s) and refuses a name that exists;\n"
        "promote renames, and replaces what was there; rm also removes programs that no other baseline needs.  The options below are for\n"
        "save; the other words take --store, and list and show take --json.  Exit codes: 0 done, 2 bad input, 5 a case could not be run.",
    .example = "assay baseline save main mlp-small --batch 8",
    .needs = "one of the words save, list, show, promote and rm, for example: assay baseline list",
    .group = AS_VERBS_COMPARE,
    .order = 3,
    .takes = AS_ARG_WORD,
    .words = "save list show promote rm",
    .min_args = 1,
    .max_args = 66,
    .options = AS_OPTIONS(AS_BASELINE_KEYS, "bin", "progress", "all", "json", "report"),
    .texts = AS_TEXTS({.key = "budget", .standard = AS_BASELINE_BUDGET, .help = "time per case when it is saved"},
                      {.key = "threads", .value = "LIST", .help = "CPU threads, one number or several: 1,2"},
                      {.key = "devices", .standard = "cpu"}),
    .run = run,
};

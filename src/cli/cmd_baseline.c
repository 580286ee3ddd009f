/* cmd_baseline.c - named things to compare with: programs and models that can be run again. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/show.h"
#include "lab/baseline.h"
#include "lab/calls.h"

enum { MAX_PROGRAMS = 64 };

static assay_status subject_read(as_cli *cli, as_baseline **out)
{
    as_texts        bins = as_options_texts(cli->options, "bin");
    as_case_options o;
    AS_TRY(as_case_options_read(cli->env, cli->options, &o));
    if (bins.n) {
        AS_TRY(as_options_only(cli->env, cli->options, "baseline save --bin",
                               AS_OPTIONS("bin", "description", "budget", "timeout", "seed", "store", "progress", "json")));
        if (cli->n_args > 2)
            return as_fail(cli->env, ASSAY_BAD_INPUT,
                           "baseline save: %s beside --bin: save models and programs under names of their own", cli->args[2]);
        if (bins.n > MAX_PROGRAMS)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "baseline: more than %d programs", MAX_PROGRAMS);
        return as_baseline_of_commands(cli->env, bins.items, (int)bins.n, out);
    }
    if (cli->n_args < 3 && !o.suite)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "baseline save: of what: name a MODEL, --suite FILE or --bin CMD");
    as_bench_cases *cases;
    AS_TRY(as_bench_cases_read(cli->env, cli->args + 2, cli->n_args - 2, &o, &cases));
    assay_status status = as_baseline_of_cases(cli->env, cases, out);
    as_bench_cases_free(cases);
    return status;
}

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

static assay_status save(as_cli *cli, as_store *store)
{
    as_lab_settings s;
    as_baseline    *b = NULL;
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    AS_TRY(as_lab_settings_read(cli->env, cli->options, AS_BASELINE_BUDGET, &s));
    const char *description = as_options_text(cli->options, "description");
    AS_TRY(subject_read(cli, &b));
    const char  *json = as_options_text(cli->options, "json");
    assay_status status = as_baseline_save(cli->env, store, b, cli->args[1], description ? description : "", &s);
    as_cli_progress_end(cli);
    if (status == ASSAY_OK && !(json && !strcmp(json, "-")))
        printf("saved baseline %s: %d case%s\n", b->name, b->n_cases, b->n_cases == 1 ? "" : "s");
    if (status == ASSAY_OK && json)
        status = json_write(cli, b, json);
    as_baseline_free(b);
    return status;
}

static assay_status list(as_cli *cli, as_store *store)
{
    as_arena     arena = {0};
    as_named    *all;
    size_t       n;
    const char  *json = as_options_text(cli->options, "json");
    assay_status status = as_store_list_named(cli->env, store, "baseline", &arena, &all, &n);
    if (status == ASSAY_OK && json) {
        as_out  out;
        as_json w;
        status = as_out_open(cli->env, json, &out);
        if (status == ASSAY_OK) {
            as_json_start(&w, out.file, true);
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
            status = as_out_commit(cli->env, &out);
        }
    } else if (status == ASSAY_OK) {
        for (size_t i = 0; i < n; i++) {
            char when[AS_DATE_BYTES];
            printf("%-24s %s UTC  run %lld\n", all[i].name, as_date_text(when, sizeof when, all[i].unix_time, AS_DATE_MINUTE),
                   (long long)all[i].run);
        }
        if (!n)
            printf("no baselines; assay baseline save NAME MODEL makes one\n");
    }
    as_arena_drop(&arena);
    return status;
}

static assay_status show(as_cli *cli, as_store *store)
{
    as_baseline *b;
    const char  *json = as_options_text(cli->options, "json");
    assay_status status = ASSAY_OK;
    AS_TRY(as_baseline_load(cli->env, store, cli->args[1], &b));
    if (json)
        status = json_write(cli, b, json);
    else
        as_baseline_print(b, stdout);
    as_baseline_free(b);
    return status;
}

static assay_status remove_it(as_cli *cli, as_store *store)
{
    size_t n;
    AS_TRY(as_store_check_name(cli->env, "baseline", cli->args[1]));
    AS_TRY(as_store_remove_named(cli->env, store, "baseline", cli->args[1]));
    AS_TRY(as_store_sweep(cli->env, store, &n));
    printf("removed baseline %s and %zu object%s that nothing else needs\n", cli->args[1], n, n == 1 ? "" : "s");
    return ASSAY_OK;
}

static assay_status promote(as_cli *cli, as_store *store)
{
    size_t n;
    AS_TRY(as_store_check_name(cli->env, "baseline", cli->args[2]));
    AS_TRY(as_store_rename_named(cli->env, store, "baseline", cli->args[1], cli->args[2], true));
    AS_TRY(as_store_sweep(cli->env, store, &n));
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
        assay_status (*run)(as_cli *, as_store *);
    } words[] = {{"save", 2, 66, "save NAME [MODEL... | --suite FILE | --bin CMD]", true, save},
                 {"list", 1, 1, "list", true, list},
                 {"show", 2, 2, "show NAME", true, show},
                 {"promote", 3, 3, "promote FROM TO", false, promote},
                 {"rm", 2, 2, "rm NAME", false, remove_it}};
    for (size_t i = 0; i < AS_COUNT(words); i++) {
        if (strcmp(cli->args[0], words[i].word))
            continue;
        if (cli->n_args < words[i].min_args || cli->n_args > words[i].max_args)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "usage: assay baseline %s", words[i].usage);
        char             what[32];
        as_store_options o;
        snprintf(what, sizeof what, "baseline %s", words[i].word);
        if (words[i].run != save)
            AS_TRY(as_options_only(cli->env, cli->options, what,
                                   words[i].takes_json ? AS_OPTIONS("store", "json") : AS_OPTIONS("store")));
        else
            AS_TRY(as_store_check_name(cli->env, "baseline", cli->args[1]));
        as_store *store;
        AS_TRY(as_store_options_read(cli->env, cli->options, &o));
        AS_TRY(as_lab_store(cli->env, &o, words[i].run == save, &store));
        assay_status status = words[i].run(cli, store);
        as_store_close(store);
        return status;
    }
    return as_fail(cli->env, ASSAY_BAD_INPUT, "baseline: '%s' is none of save, list, show, promote, rm", cli->args[0]);
}

const as_verb as_cmd_baseline = {
    .name = "baseline",
    .summary = "named programs and models to check against, kept so that they can be run again",
    .usage = "save NAME [MODEL... | --suite FILE | --bin CMD] | list | show NAME | promote FROM TO | rm NAME  [options]",
    .details =
        "A baseline keeps the program itself (assay, or yours) and the model file by content, with samples, counts and the machine's\n"
        "fingerprint; `assay check` runs it again, in turns with today's.  save measures every case once (--budget, 1s) and refuses a name\n"
        "that is taken; promote renames, over what was there; rm also removes the programs that nothing else needs.  The\n"
        "options below are for save; the others take --store, and list and show --json.  Exit codes: 0 done, 2 bad input, 5 a case could not be run.",
    .example = "assay baseline save main mlp-small --batch 8",
    .min_args = 1,
    .max_args = 66,
    .options = AS_OPTIONS(AS_BASELINE_KEYS, "bin", "progress", "json"),
    .texts = AS_TEXTS({.key = "budget", .standard = AS_BASELINE_BUDGET, .help = "time that a case is measured when it is saved"},
                      {.key = "threads", .value = "LIST", .help = "CPU threads, one number or several: 1,2"},
                      {.key = "devices", .standard = "cpu"}),
    .run = run,
};

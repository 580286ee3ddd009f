/* cmd_compare.c - models, options, workloads or programs side by side, in turns; which wins where, and where the winner flips. */
#include <stdlib.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "base/file.h"
#include "cli/show.h"
#include "lab/calls.h"
#include "lab/contest.h"
#include "lab/keep.h"
#include "lab/noise.h"
#include "run/command.h"

typedef struct how {
    as_lab_settings    lab;
    as_contest_options contest;
    as_store_options   store;
    as_report_options  report;
    as_texts           programs; /* --bin */
} how;

/* Ctrl-C keeps what was measured; the exit code still says incomplete. */
static assay_status shown(as_cli *cli, const how *h, assay_status measured, const char *expected, assay_facts *facts,
                          assay_trace **trials, size_t n, const char *title)
{
    char    message[1024];
    int64_t id;
    snprintf(message, sizeof message, "%s", assay_message(cli->env));
    if (*expected)
        as_facts_find(facts, as_facts_group(facts, "compare", "Compare"), AS_LEVEL_NOTE, "%s", expected);
    as_facts_trials(facts, trials, n, h->lab.sampler.keep_samples);
    AS_TRY(facts->status);
    AS_TRY(as_cli_show(cli, &h->report, facts));
    AS_TRY(as_lab_keep(cli->env, &h->store, "compare", title, (const assay_trace *const *)trials, n, facts, &id));
    if (measured == ASSAY_CANCELLED)
        return as_fail(cli->env, measured, "compare: stopped before its end: what was measured is shown, marked partial");
    return measured == ASSAY_OK ? ASSAY_OK : as_fail(cli->env, measured, "%s", message);
}

static bool has_numbers(const assay_trace *t) { return t->state == AS_TRACE_COMPLETE || t->state == AS_TRACE_PARTIAL; }

/* Rows without a number are told once more, since the exit code must say it.  All of them: there is nothing to show. */
static assay_status rows_missing(as_cli *cli, assay_trace *const *trials, size_t n, bool *all)
{
    const assay_trace *first = NULL;
    size_t             n_missing = 0;
    for (size_t i = 0; i < n; i++)
        if (!has_numbers(trials[i])) {
            first = first ? first : trials[i];
            n_missing++;
        }
    *all = n_missing && n_missing == n;
    if (!first)
        return ASSAY_OK;
    return n == 1 ? as_fail(cli->env, ASSAY_DEVICE, "compare: %s", first->reason)
                  : as_fail(cli->env, ASSAY_DEVICE, "compare: %zu of %zu rows have no number; %s: %s", n_missing, n, first->name,
                            first->reason);
}

static assay_status models(as_cli *cli, how *h)
{
    as_lab_settings *s = &h->lab;
    as_contest      *c = NULL;
    char             expected[160];
    bool             nothing = false;
    AS_TRY(as_contest_read(cli->env, cli->args, cli->n_args, &h->contest, &c));
    as_noise_expect(cli->env, &h->store, c->title, s, expected, sizeof expected);
    assay_status  measured = as_contest_run(cli->env, c, s), status = measured;
    assay_trace **trials = NULL;
    assay_facts  *facts = NULL;
    size_t        n = 0;
    as_cli_progress_end(s);
    if (measured == ASSAY_OK || measured == ASSAY_CANCELLED)
        status = as_contest_trials(cli->env, c, false, &trials, &n);
    if (measured == ASSAY_OK && status == ASSAY_OK)
        status = rows_missing(cli, trials, n, &nothing);
    if (n && !nothing)
        status = as_contest_facts(cli->env, c, s, &facts);
    else if (status == ASSAY_OK)
        status = measured;
    if (facts)
        status = shown(cli, h, measured, expected, facts, trials, n, c->title);
    if (facts && status == ASSAY_OK)
        status = rows_missing(cli, trials, n, &nothing);
    assay_facts_free(facts);
    as_contest_free(c);
    return status;
}

/* --- Programs --------------------------------------------------------------------------------------------- */

typedef struct programs {
    as_arena            arena;
    const char        **commands;
    const char *const **argvs;
    int                 n;
} programs;

/* --bin A B: the first follows the option, the others are arguments; --bin A --bin B is the same. */
static assay_status programs_read(as_cli *cli, as_texts bins, programs *p)
{
    size_t n_bin = bins.n, n = n_bin + (size_t)cli->n_args;
    p->commands = AS_TAKE(&p->arena, const char *, n);
    p->argvs = AS_TAKE(&p->arena, const char *const *, n);
    if (!p->commands || !p->argvs)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "compare: no room for %zu programs", n);
    for (size_t i = 0; i < n; i++) {
        p->commands[i] = i < n_bin ? bins.items[i] : cli->args[i - n_bin];
        AS_TRY(as_command_split(cli->env, p->commands[i], &p->arena, &p->argvs[i]));
    }
    p->n = (int)n;
    if (n < 2)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "compare: --bin %s alone is no comparison: name a second program",
                       p->commands[0]);
    return ASSAY_OK;
}

static assay_status programs_judge(as_cli *cli, const how *h, const programs *p, assay_trace *trial, assay_status measured,
                                   const char *expected)
{
    const as_lab_settings *s = &h->lab;
    as_duel_row           *rows = calloc((size_t)p->n, sizeof *rows);
    if (!rows)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "compare: no room for %d verdicts", p->n);
    for (int b = 1; b < p->n; b++) {
        rows[b - 1] = (as_duel_row){.trial = trial, .a = 0, .b = b, .rules = &s->rules};
        as_duel_judge(trial, 0, b, &s->rules, &rows[b - 1].duel);
    }
    assay_facts *facts = as_facts_of_duels(cli->env, rows, (size_t)p->n - 1, trial->name);
    free(rows);
    if (!facts)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "compare: no room for the result");
    assay_status status =
        facts->status == ASSAY_OK ? shown(cli, h, measured, expected, facts, &trial, 1, trial->name) : facts->status;
    assay_facts_free(facts);
    return status;
}

static assay_status programs_run(as_cli *cli, how *h)
{
    as_lab_settings *s = &h->lab;
    char             expected[160] = "";
    programs         p = {.n = 0};
    assay_trace     *trial = NULL;
    char             name[256] = "";
    AS_TRY(as_options_only(cli->env, cli->options, "compare --bin",
                           AS_OPTIONS("bin", "budget", "timeout", "runs", "warmup", "clock", "seed", "samples", "margin", "alpha",
                                      "store", "progress", AS_REPORT_KEYS)));
    assay_status status = programs_read(cli, h->programs, &p);
    if (status == ASSAY_OK) {
        snprintf(name, sizeof name, "%.120s against %.120s", p.commands[1], p.commands[0]);
        as_noise_expect(cli->env, &h->store, name, s, expected, sizeof expected);
        status = as_lab_compare_bins(cli->env, name, p.argvs, p.commands, p.n, s, &trial);
    }
    as_cli_progress_end(s);
    if (trial && !has_numbers(trial))
        status = as_fail(cli->env, ASSAY_DEVICE, "%s", trial->reason);
    else if (trial && trial->n_rounds)
        status = programs_judge(cli, h, &p, trial, status, expected);
    assay_trace_free(trial);
    as_arena_drop(&p.arena);
    return status;
}

/* --- A file ------------------------------------------------------------------------------------------------ */

/* The same blocks, judged again. */
static assay_status judged_again(as_cli *cli, const how *h, const char *path)
{
    const as_lab_settings *s = &h->lab;
    as_map                 map;
    assay_facts           *old = NULL, *facts = NULL;
    AS_TRY(as_options_only(cli->env, cli->options, "compare --from", AS_OPTIONS("from", "margin", "alpha", AS_REPORT_KEYS)));
    if (cli->n_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "compare: --from %s judges what was measured and runs nothing: leave out %s",
                       path, cli->args[0]);
    AS_TRY(as_map_open(cli->env, "compare", path, (uint64_t)1 << 30, &map));
    assay_status status = as_facts_parse(cli->env, path, (const char *)map.data, map.bytes, &old);
    as_map_close(&map);
    AS_TRY(status);
    size_t n = 0, n_rows = 0;
    for (size_t i = 0; i < old->n_trials; i++)
        n += (size_t)old->trials[i]->n_arms - 1;
    as_duel_row *rows = calloc(n + 1, sizeof *rows);
    for (size_t i = 0; rows && i < old->n_trials; i++)
        for (int b = 1; b < old->trials[i]->n_arms; b++) {
            as_duel_row *row = &rows[n_rows++];
            *row = (as_duel_row){.trial = old->trials[i], .a = 0, .b = b, .rules = &s->rules};
            as_duel_judge(row->trial, 0, b, &s->rules, &row->duel);
        }
    if (!rows)
        status = as_fail(cli->env, ASSAY_NO_MEMORY, "compare: no room for %zu verdicts", n);
    else if (!n)
        status = as_fail(cli->env, ASSAY_BAD_INPUT, "compare: %s: there is no trial of two arms in it", path);
    else if (!(facts = as_facts_of_duels(cli->env, rows, n_rows, old->title)))
        status = as_fail(cli->env, ASSAY_NO_MEMORY, "compare: no room for the result");
    if (facts) {
        as_facts_trials(facts, old->trials, old->n_trials, old->with_samples);
        status = facts->status == ASSAY_OK ? as_cli_show(cli, &h->report, facts) : facts->status;
    }
    assay_facts_free(facts);
    assay_facts_free(old);
    free(rows);
    return status;
}

static assay_status run(as_cli *cli)
{
    how         h;
    const char *from = as_options_text(cli->options, "from");
    AS_TRY(as_lab_settings_read(cli->env, cli->options, NULL, &h.lab));
    AS_TRY(as_contest_options_read(cli->env, cli->options, &h.contest));
    AS_TRY(as_store_options_read(cli->env, cli->options, &h.store));
    AS_TRY(as_report_options_read(cli->env, cli->options, &h.report));
    h.programs = as_options_texts(cli->options, "bin");
    as_cli_progress(cli, &h.lab);
    if (from)
        return judged_again(cli, &h, from);
    if (h.programs.n)
        return programs_run(cli, &h);
    if (!cli->n_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "compare: name two models, one with --vary KEY=A,B, or two programs with --bin");
    return models(cli, &h);
}

const as_verb as_cmd_compare = {
    .name = "compare",
    .summary = "models, options, devices or programs side by side: which is faster, and by how much",
    .usage = "A B [...] | MODEL --vary KEY=A,B [...] | bench:WORKLOAD --devices A,B | --bin OLD NEW | --from FILE  [options]",
    .details =
        "Arms take turns in short blocks, the order drawn by a coin each round, so that what the machine does meanwhile happens to all.\n"
        "The first is what the others are compared with.  The ratio has an interval and a verdict: slower, faster, same (within --margin)\n"
        "or unresolved, which says the smallest effect that could have been seen and how long would suffice.\n"
        "--vary takes threads, batch, seq, compile, precision, weights-as, winograd, device, size, dtype, layout, or a parameter of the\n"
        "model.  Of several --vary the first gives the arms and the others the rows: who wins where, and where the winner flips.\n"
        "Arms of different batch are judged per item; the times of a call stand beside.\n"
        "Exit codes: 0 whatever the verdict (assay check is for gates), 2 bad input, 5 could not be measured, or stopped.  docs/comparing.md",
    .example = "assay compare mlp-small --vary threads=1,2 --vary batch=1,8,32 --budget 2s",
    .min_args = 0,
    .max_args = 64,
    .options = AS_OPTIONS(AS_COMPARE_KEYS, "bin", "from", "progress", AS_REPORT_KEYS),
    .texts = AS_TEXTS({.key = "budget", .help = "time that a comparison may take"},
                      {.key = "runs", .help = "measure exactly N rounds; with --budget at most N"},
                      {.key = "devices", .help = "cpu, opencl[:N], null[:OP=TIME,...]: several are set side by side"},
                      {.key = "device", .help = "where all arms run: cpu, opencl[:N] or null[:OP=TIME,...]"}),
    .run = run,
};

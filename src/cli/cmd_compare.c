/* cmd_compare.c - models, options, workloads or programs side by side, in turns; which wins where, and where the winner flips. */
#include <stdlib.h>
#include <string.h>

#include "cli/show.h"
#include "lab/calls.h"

/* --bin A B: the first follows the option, the others are arguments; --bin A --bin B is the same. */
static assay_status programs(as_cli *cli, as_texts bins, assay_facts **out)
{
    size_t       n = bins.n + (size_t)cli->n_args;
    const char **commands = calloc(n, sizeof *commands);
    if (!commands)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "compare: not enough memory for %zu programs", n);
    for (size_t i = 0; i < n; i++)
        commands[i] = i < bins.n ? bins.items[i] : cli->args[i - bins.n];
    assay_status status = assay_compare_programs(cli->env, commands, n, cli->options, out);
    free(commands);
    return status;
}

static assay_status compared(as_cli *cli, assay_facts **out)
{
    const char *from = as_options_text(cli->options, "from");
    as_texts    bins = as_options_texts(cli->options, "bin");
    if (from && cli->n_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "compare: --from %s judges what was measured and runs nothing: leave out %s",
                       from, cli->args[0]);
    if (from)
        return assay_compare_again(cli->env, from, cli->options, out);
    if (bins.n)
        return programs(cli, bins, out);
    if (!cli->n_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "compare: name two models, one with --vary KEY=A,B, or two programs with --bin");
    return assay_compare(cli->env, cli->args, (size_t)cli->n_args, cli->options, out);
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_facts      *facts = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status status = compared(cli, &facts);
    as_cli_progress_end(cli);
    return as_cli_finish(cli, &report, facts, status);
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

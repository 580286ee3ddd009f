/* cmd_compare.c - models, options, workloads or programs side by side, in turns; which wins where, and where the winner changes. */
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
    if (from && cli->n_args > 1)
        return as_fail(cli->env, ASSAY_BAD_INPUT,
                       "compare: --from takes a comparison, or two profiles, and runs nothing: leave out %s", cli->args[1]);
    if (from && cli->n_args)
        return assay_compare_profiles(cli->env, from, cli->args[0], cli->options, out);
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
    .summary = "which of several models, settings, devices or programs is faster",
    .usage =
        "A B [...] | MODEL --vary KEY=A,B [...] | MODEL --data D --vary optimizer=A,B | bench:WORKLOAD --devices A,B | --bin OLD NEW | --from RUN [RUN]  [options]",
    .details =
        "Candidates take turns in short blocks, in random order, so that whatever the machine does meanwhile happens to all of them.\n"
        "The first is the reference.  The ratio has an interval and a verdict: slower, faster, same (within --margin) or unresolved,\n"
        "with the smallest detectable change and the time to decide.\n"
        "--vary takes threads, batch, seq, compile, precision, weights-as, winograd, device, size, dtype, layout, or a parameter of the\n"
        "model.  Of several --vary the first gives the candidates and the others the rows: which wins where.\n"
        "Candidates of different batch size are judged per item.\n"
        "Models are also run layer by layer, outside the timed blocks: which layers made the difference.\n"
        "With --data D the candidates learn: --vary optimizer=sgd:lr=0.1,adam:lr=1e-3 (or schedule, batch, accumulate, clip, clip-value, precision,\n"
        "freeze, threads) trains each with --seeds seeds, in turns, and says which ends with the lower loss.  docs/training-runs.md\n"
        "--from RUN (a run JSON, or the number of a stored run) judges a comparison again.  --from RUN RUN sets two profiles side by side,\n"
        "layer by layer; they were measured at different times, so this proves nothing about small differences.\n"
        "Exit codes: 0 whatever the verdict (use assay check as a gate), 2 bad input, 5 could not be measured, or stopped.  docs/comparing.md",
    .example = "assay compare mlp-small --vary threads=1,2 --vary batch=1,8,32 --budget 2s",
    .group = AS_VERBS_COMPARE,
    .order = 1,
    .takes = AS_ARG_MODEL,
    .min_args = 0,
    .max_args = 64,
    .options = AS_OPTIONS(AS_COMPARE_KEYS, AS_LEAGUE_ONLY, "bin", "from", "progress", AS_REPORT_KEYS, AS_EXPORT_KEYS),
    .texts = AS_TEXTS({.key = "budget", .help = "time per comparison"},
                      {.key = "runs", .help = "measure exactly N rounds; with --budget at most N"},
                      {.key = "devices", .help = "cpu, opencl[:N], gpu, null[:OP=TIME,...]: several are compared with each other"},
                      {.key = "device", .help = "where all candidates run: cpu, opencl[:N], gpu or null[:OP=TIME,...]"}),
    .run = run,
};

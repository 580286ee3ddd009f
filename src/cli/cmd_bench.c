/* cmd_bench.c - workloads and models over sizes, types, layouts, devices and threads: one row per case. */
#include <string.h>
#include <unistd.h>

#include "cli/show.h"
#include "lab/calls.h"

static assay_status speak(as_cli *cli)
{
    if (cli->n_args > 1)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "bench: --speak answers for one case, and %d are given", cli->n_args);
    return assay_speak(cli->env, cli->n_args ? cli->args[0] : NULL, cli->options, STDIN_FILENO, STDOUT_FILENO);
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_facts      *facts = NULL;
    if (as_options_flag(cli->options, "speak"))
        return speak(cli);
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status status = assay_bench(cli->env, cli->args, (size_t)cli->n_args, cli->options, &facts);
    as_cli_progress_end(cli);
    return as_cli_finish(cli, &report, facts, status);
}

const as_verb as_cmd_bench = {
    .name = "bench",
    .summary = "time workloads and models over sizes, types, devices and threads",
    .usage = "WORKLOAD|MODEL... [options] | --suite FILE [options]",
    .details =
        "Workloads: matmul, elementwise:add,mul,... quantize, conv, layout, softmax, cell, train; parameters follow a colon, and lists\n"
        "multiply.  Prints one row per case.  Every answer is checked before it is timed; a case whose numbers cannot be true is refused\n"
        "with the reason.  docs/bench.md explains a row.",
    .example = "assay bench matmul elementwise:add,mul --sizes 64x64,128x128 --budget 100ms",
    .group = AS_VERBS_COMPARE,
    .order = 2,
    .takes = AS_ARG_MODEL,
    .min_args = 0,
    .max_args = 64,
    .options = AS_OPTIONS(AS_BENCH_KEYS, "speak", "progress", AS_REPORT_KEYS, AS_EXPORT_KEYS),
    .texts = AS_TEXTS({.key = "budget", .help = "time per case"},
                      {.key = "runs", .help = "measure exactly N rounds of a case; with --budget at most N"},
                      {.key = "threads", .value = "LIST", .help = "CPU threads, one number or several: 1,2"},
                      {.key = "devices", .standard = "cpu"}),
    .run = run,
};

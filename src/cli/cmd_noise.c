/* cmd_noise.c - the smallest change that this machine can detect in a given time, and what disturbs it. */
#include <string.h>

#include "cli/show.h"
#include "lab/calls.h"

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_facts      *facts = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status status = assay_noise(cli->env, cli->options, &facts);
    as_cli_progress_end(cli);
    return as_cli_finish(cli, &report, facts, status);
}

const as_verb as_cmd_noise = {
    .name = "noise",
    .summary = "the smallest change this machine can detect, and what disturbs it",
    .usage = "[options]",
    .details =
        "Compares the same work with itself, compute-bound and memory-bound, by wall and by CPU time, in blocks of several lengths.  Says\n"
        "which change can be detected in 1, 5 and 30 s, which clock and block length to use, and what disturbs: frequency, a neighbour on\n"
        "the memory, pre-emption, the hypervisor.  The store keeps the result, and the next comparison is planned with it.\n"
        "Each of six trials gets a sixth of --budget: below a second there are too few rounds for advice.  Exit codes: 0 measured,\n"
        "2 bad input, 5 stopped or could not be measured.",
    .example = "assay noise --budget 12s",
    .group = AS_VERBS_MACHINE,
    .order = 2,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS(AS_NOISE_KEYS, "progress", AS_REPORT_KEYS),
    .texts = AS_TEXTS({.key = "budget", .standard = AS_NOISE_BUDGET, .help = "time in all"},
                      {.key = "seed", .help = "seed of the order of blocks"}),
    .run = run,
};

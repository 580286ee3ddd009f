/* cmd_history.c - the times of a case over its stored runs, with the change points that their ranks suggest. */
#include "cli/show.h"
#include "lab/calls.h"

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_facts      *facts = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    assay_status status = assay_history(cli->env, cli->n_args ? cli->args[0] : NULL, cli->options, &facts);
    return as_cli_finish(cli, &report, facts, status);
}

const as_verb as_cmd_history = {
    .name = "history",
    .summary = "one case over all stored runs, and where it may have changed",
    .usage = "[CASE] [options]",
    .details =
        "Without CASE lists the cases that the store holds from this machine.  With CASE draws their medians over time and marks where they\n"
        "may have changed (rank E-divisive).  Each candidate of a comparison is a case.  A change point is a hint, not a proof: the\n"
        "sentence beside it names the comparison that would prove it.",
    .example = "assay bench matmul --sizes 64x64 --budget 200ms --store runs.db && assay history --store runs.db",
    .group = AS_VERBS_COMPARE,
    .order = 5,
    .min_args = 0,
    .max_args = 1,
    .options = AS_OPTIONS(AS_HISTORY_KEYS, AS_REPORT_KEYS),
    .run = run,
};

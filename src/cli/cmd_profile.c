/* cmd_profile.c - measures a network: latency, time per layer, time accounted for, memory, verdict. */
#include "cli/show.h"

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_model      *model;
    assay_facts      *facts = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &model));
    as_cli_progress(cli, true);
    assay_status status = assay_profile_model(cli->env, model, cli->options, &facts);
    as_cli_progress_end(cli);
    status = as_cli_finish(cli, &report, facts, status);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_profile = {
    .name = "profile",
    .summary = "how fast a network runs, where time and memory go, and how near that is to the limit",
    .usage = "MODEL [options]",
    .details =
        "Warms up until the times are steady, measures, and reports.  Every number says whether it was measured, counted, derived,\n"
        "modelled, or why it is unavailable.",
    .example = "assay profile cnn-small --batch 8 --time 2s --html report.html",
    .needs = "a MODEL, for example mlp-small",
    .group = AS_VERBS_LOOK,
    .order = 1,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("batch", "seq", "dim", "input", "timespans", "weights", "seed", "device", "threads", "compile",
                          "weights-as", "winograd", "time", "runs", "detail", "sensors", "roofs", "pin", "trace", "store", "by",
                          AS_REPORT_KEYS, AS_EXPORT_KEYS),
    .texts = AS_TEXTS({.key = "compile",
                       .value = "on|off|both",
                       .help = "off runs the model operator by operator; both measures the two in turns, with ratio and verdict"}),
    .run = run,
};

/* cmd_profile.c - measures a network: latency, per-layer cost, closed books, memory, verdict. */
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
    .summary = "where time and memory go: latency, per layer, closed books, verdict",
    .usage = "MODEL [options]",
    .details = "Warms up until the times are stationary, measures, and reports.  Every number carries its kind (measured,\n"
               "counted, derived, modelled or unavailable), its source and its interval.",
    .example = "assay profile cnn-small --batch 8 --time 2s --html report.html",
    .min_args = 1,
    .max_args = 1,
    .options =
        AS_OPTIONS("batch", "seq", "dim", "input", "timespans", "weights", "seed", "device", "threads", "compile", "weights-as",
                   "winograd", "time", "runs", "detail", "sensors", "roofs", "pin", "trace", "store", "by", AS_REPORT_KEYS),
    .texts =
        AS_TEXTS({.key = "compile",
                  .value = "on|off|both",
                  .help = "off: op by op, no pass, nothing aliased; both: the two in alternating blocks, with ratio and verdict"}),
    .run = run,
};

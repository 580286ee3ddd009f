/* cmd_doctor.c - what can be measured here, what cannot, and why: as text, or as JSON. */
#include "cli/show.h"
#include "lab/tell.h"

static assay_status run(as_cli *cli)
{
    as_report_options o;
    as_brief          b;
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    if (o.json)
        return assay_doctor(cli->env, o.json);
    if (o.amount == AS_AMOUNT_DETAILED)
        return as_doctor_print(cli->env, stdout);
    AS_TRY(as_doctor_brief(cli->env, &b));
    return as_cli_brief(cli, &o, &b);
}

const as_verb as_cmd_doctor = {
    .name = "doctor",
    .summary = "what can be measured here, what cannot, and why",
    .usage = "[options]",
    .details =
        "Probes by doing: a counter is listed as available only after it counted a known loop.  --json writes one JSON object\n"
        "(assay.doctor/1) instead of the page.",
    .example = "assay doctor",
    .group = AS_VERBS_MACHINE,
    .order = 3,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS("json", "report", "colour"),
    .run = run,
};

/* cmd_doctor.c - what can be measured here, and why not the rest, as one JSON. */
#include "cli/cli.h"

static assay_status run(as_cli *cli) { return assay_doctor(cli->env, "-"); }

const as_verb as_cmd_doctor = {
    .name = "doctor",
    .summary = "what can be measured here and why not the rest, as one JSON",
    .usage = "",
    .details = "Probes by doing: a counter is listed as available only after it counted a known loop.",
    .example = "assay doctor",
    .min_args = 0,
    .max_args = 0,
    .run = run,
};

/* cmd_devices.c - the devices of this machine, and the limits of each. */
#include <string.h>

#include "base/file.h"
#include "cli/show.h"
#include "lab/calls.h"
#include "lab/require.h"
#include "lab/tell.h"

static assay_status text_show(as_cli *cli, const as_report_options *o, const as_devices *found, const assay_facts *facts)
{
    if (o->amount == AS_AMOUNT_DETAILED) {
        as_devices_print(found, stdout);
        return ASSAY_OK;
    }
    return as_cli_text(cli, o, (const assay_facts *const[]){facts}, 1);
}

static assay_status show(as_cli *cli, const as_report_options *o, const as_devices *found, const assay_facts *facts,
                         const as_requirements *required)
{
    as_out out;
    bool   texts = !o->json || strcmp(o->json, "-");
    if (texts)
        AS_TRY(text_show(cli, o, found, facts));
    if (texts && required)
        as_require_print(required, stdout);
    if (!o->json)
        return ASSAY_OK;
    AS_TRY(as_out_open(cli->env, o->json, &out));
    as_devices_json(found, required, out.file);
    return as_out_commit(cli->env, &out);
}

static assay_status judged(as_cli *cli, const as_report_options *o, const as_devices *found, as_requirements *required)
{
    assay_facts *facts = NULL;
    AS_TRY(as_devices_facts(cli->env, found, &facts));
    int          n_failed = required ? as_require_judge(required, facts) : 0;
    assay_status status = show(cli, o, found, facts, required);
    assay_facts_free(facts);
    cli->exit_code = n_failed ? 1 : 0;
    return status;
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    as_devices       *found;
    as_requirements  *required = NULL;
    const char       *require = as_options_text(cli->options, "require");
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    if (require)
        AS_TRY(as_requirements_load(cli->env, require, &required));
    as_cli_progress(cli, true);
    assay_status status = as_devices_ask(cli->env, cli->options, &found);
    as_cli_progress_end(cli);
    if (status == ASSAY_OK) {
        status = judged(cli, &report, found, required);
        as_devices_free(found);
    }
    as_requirements_free(required);
    return status;
}

const as_verb as_cmd_devices = {
    .name = "devices",
    .summary = "what this machine can compute on, and how fast each can be at most",
    .usage = "[--measure] [--device DEVICE] [options]",
    .details =
        "Lists the devices that a network can run on, then the limits of each with their ranges: for the CPU multiply-adds, bandwidth of\n"
        "every cache and of memory, exp and tanh, thread starts, clock.  --measure measures them now; profile measures what is missing.\n"
        "The best value ever seen is kept.\n"
        "--require judges them by a requirement profile: exit code 1 when a row fails.",
    .example = "assay devices --measure",
    .group = AS_VERBS_MACHINE,
    .order = 1,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS(AS_DEVICES_KEYS, "json", "report", "colour"),
    .texts = AS_TEXTS({.key = "device", .standard = "all devices", .help = "only this device"},
                      {.key = "threads", .standard = "all CPUs", .help = "limits of this many CPU threads"}),
    .run = run,
};

/* cmd_devices.c - the engines of this machine, and the limits of each. */
#include <string.h>

#include "base/file.h"
#include "cli/show.h"
#include "lab/calls.h"
#include "lab/tell.h"

static assay_status show(as_cli *cli, const as_devices *found)
{
    const char *path = as_options_text(cli->options, "json");
    as_out      out;
    if (!path || strcmp(path, "-"))
        as_devices_print(found, stdout);
    if (!path)
        return ASSAY_OK;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_devices_json(found, out.file);
    return as_out_commit(cli->env, &out);
}

static assay_status run(as_cli *cli)
{
    as_devices *found;
    as_cli_progress(cli, true);
    assay_status status = as_devices_ask(cli->env, cli->options, &found);
    as_cli_progress_end(cli);
    AS_TRY(status);
    status = show(cli, found);
    as_devices_free(found);
    return status;
}

const as_verb as_cmd_devices = {
    .name = "devices",
    .summary = "what this machine can compute on, and how fast each can be at most",
    .usage = "[--measure] [--device DEVICE] [options]",
    .details =
        "Lists the devices that a network can run on, then the limits of each with their ranges: for the CPU multiply-adds, bandwidth of\n"
        "every cache and of memory, exp and tanh, thread starts, clock.  --measure measures them now; profile measures what is missing.\n"
        "The best value ever seen is kept.",
    .example = "assay devices --measure",
    .group = AS_VERBS_MACHINE,
    .order = 1,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS(AS_DEVICES_KEYS, "json"),
    .texts = AS_TEXTS({.key = "device", .standard = "all devices", .help = "only this device"},
                      {.key = "threads", .standard = "all CPUs", .help = "limits of this many CPU threads"}),
    .run = run,
};

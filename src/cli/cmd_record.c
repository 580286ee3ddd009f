/* cmd_record.c - samples the stacks of any program: how much of the time it runs, and where. */
#include <limits.h>

#include "cli/show.h"
#include "lab/calls.h"

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_facts      *facts = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    assay_status status = assay_record(cli->env, cli->n_args ? cli->args : NULL, cli->options, &facts);
    return as_cli_finish(cli, &report, facts, status);
}

const as_verb as_cmd_record = {
    .name = "record",
    .summary = "where any program spends its time: hotspots, call tree, flame graph, waiting",
    .usage = "[options] -- COMMAND [ARGUMENT...]",
    .details =
        "Samples the stacks of all threads of a program and of the programs that it starts, or of one that runs already (-p PID), and\n"
        "reports which functions take the time, who calls them, and how long the program waits.  The program is not changed; its output\n"
        "goes where it always goes.  Where the kernel forbids sampling, assay says why and uses timers inside of the program instead.\n"
        "--memory reports what the program allocates instead: peak, owners, leaks.\n"
        "Programs without frame pointers need --call-graph dwarf for whole call trees; the report says when stacks are cut short.\n"
        "Exit codes: 0 recorded, whatever the exit code of the program, 2 bad input or no such command, 5 could not be recorded, or the\n"
        "record is partial because it was stopped or the program was ended by a signal.",
    .example = "assay record --html report.html -- sqlite3 data.db 'select count(*) from t'",
    .needs = "a command, for example 'assay record -- ls', or -p PID",
    .group = AS_VERBS_LOOK,
    .order = 2,
    .takes = AS_ARG_FILE,
    .min_args = 0,
    .max_args = INT_MAX,
    .runs_command = true,
    .options = AS_OPTIONS(AS_RECORD_KEYS, AS_REPORT_KEYS, AS_EXPORT_KEYS),
    .texts = AS_TEXTS({.key = "rate", .standard = "999", .help = "samples per second of each thread while it has a CPU"},
                      {.key = "time", .standard = "until it ends", .help = "stop after so long, for example 10s"}),
    .run = run,
};

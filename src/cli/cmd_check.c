/* cmd_check.c - is anything slower than the baseline?  The verdict for CI. */
#include <string.h>

#include "base/text.h"
#include "cli/screen.h"
#include "cli/show.h"
#include "lab/calls.h"

/* Writes the format of --output-format to --output-file or standard output, and the files that every verb writes. */
static assay_status result_write(as_cli *cli, const as_report_options *o, const char *asked, const char *path,
                                 const assay_facts *facts)
{
    const char *const  names[][2] = {{"text", o->amount == AS_AMOUNT_DETAILED ? "text" : "basic"},
                                     {"json", "json"},
                                     {"junit", "junit"},
                                     {"github", "github"},
                                     {"md", "markdown"}};
    const char        *format = "basic";
    const assay_facts *one[] = {facts};
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!strcmp(asked, names[i][0]))
            format = names[i][1];
    as_write_settings settings = {
        .colour = as_cli_colour(o, stdout) && !path, .width = path ? 0 : as_screen_columns(), .one_line = cli->quiet && !path};
    if (path || !as_cli_forms_asked(o, true)) /* unless another option sends its format to standard output */
        AS_TRY(as_report_save(cli->env, one, 1, format, &settings, path ? path : "-"));
    return as_cli_forms_write(cli, o, one, 1);
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_facts      *facts = NULL;
    const char       *name = as_options_text(cli->options, "baseline"), *format = as_options_text(cli->options, "output-format"),
               *path = as_options_text(cli->options, "output-file");
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    if (!name)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "check: against what: --baseline NAME (assay baseline list shows them)");
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status status = assay_check(cli->env, name, cli->options, &facts, &cli->exit_code);
    as_cli_progress_end(cli);
    char message[sizeof cli->env->message]; /* a run that cannot be stored is still shown */
    snprintf(message, sizeof message, "%s", assay_message(cli->env));
    assay_status shown = facts ? result_write(cli, &report, format, path, facts) : ASSAY_OK;
    assay_facts_free(facts);
    AS_TRY(shown);
    return status == ASSAY_OK ? ASSAY_OK : as_fail(cli->env, status, "%s", message);
}

const as_verb as_cmd_check = {
    .name = "check",
    .summary = "is anything slower than the baseline?  The verdict for CI",
    .usage = "--baseline NAME [options]",
    .details =
        "Runs the program that the baseline kept and today's program in turns, case by case, and compares them.  A case is a regression\n"
        "when its whole interval lies beyond --threshold percent and it survives a false discovery rate of 5 % over the suite.  Its\n"
        "severity is that of the interval's near end.  --output-format and --output-file say what to print or write; --json, --html,\n"
        "--csv and --markdown write further files.\n"
        "Exit codes: 0 no regression, 1 regression, 2 bad input, 3 critical regression, 4 unresolved (only with --fail-on unresolved),\n"
        "5 failed or incomplete.  docs/ci.md",
    .example = "assay check --baseline main --threshold 5 --output-format junit --output-file check.xml",
    .group = AS_VERBS_COMPARE,
    .order = 4,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS("baseline", AS_CHECK_KEYS, "output-format", "output-file", "progress", "json", "html", "csv", "markdown",
                          "report", "colour"),
    .texts = AS_TEXTS({.key = "budget", .help = "time per case"}),
    .run = run,
};

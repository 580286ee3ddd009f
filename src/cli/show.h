/* show.h - what the verbs that measure share: facts to standard output and to files, and a line about the work on a terminal. */
#ifndef AS_CLI_SHOW_H
#define AS_CLI_SHOW_H

#include "analysis/analysis.h"
#include "cli/cli.h"
#include "lab/lab.h"
#include "report/report.h"

/* Text to standard output unless another form was sent there, and every file that was asked for: json, html, csv, markdown. */
assay_status as_cli_show(as_cli *cli, const assay_facts *facts);
/* Was any of these forms asked for; with to_stdout only those that go to standard output ("-") count. */
bool as_cli_forms_asked(as_cli *cli, bool to_stdout);
/* Every file that was asked for, of one run or several. */
assay_status as_cli_forms_write(as_cli *cli, const assay_facts *const *facts, size_t n, const as_write_settings *settings);
/* BAD_INPUT for an option that was given and is not among `keys` ("json store"): what says nothing here is not passed over. */
assay_status as_cli_only(as_cli *cli, const char *what, const char *keys);
/* Sets settings->progress where standard error is a terminal and --progress does not say never. */
void as_cli_progress(as_cli *cli, as_lab_settings *settings);
/* Takes the line away again. */
void as_cli_progress_end(const as_lab_settings *settings);

#endif

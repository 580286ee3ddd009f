/* show.h - what the verbs that measure share: facts to standard output and to files, and a line about the work on a terminal. */
#ifndef AS_CLI_SHOW_H
#define AS_CLI_SHOW_H

#include "analysis/analysis.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "export/export.h"
#include "lab/lab.h"
#include "report/brief.h"
#include "report/report.h"

enum { AS_N_FORMS = 4 };
typedef enum as_amount { AS_AMOUNT_BASIC, AS_AMOUNT_DETAILED } as_amount;
typedef enum as_colour { AS_COLOUR_AUTO, AS_COLOUR_ALWAYS, AS_COLOUR_NEVER } as_colour;

/* Which forms of a result are printed and written. */
typedef struct as_report_options {
    const char *json, *html, *csv, *markdown; /* files; NULL: not wanted */
    const char *sections;                     /* NULL: all */
    as_colour   colour;
    as_amount   amount;
    bool        text; /* print text in addition to the files */
    const char *by;   /* "module:2"; NULL: layers one by one */
    int         module_depth;
    bool        text_elsewhere;             /* standard output is taken: no text */
    bool        exports, exports_to_stdout; /* traces in other tools' formats */
} as_report_options;

#define AS_REPORT_KEYS "json", "html", "csv", "markdown", "sections", "report", "colour"
/* Sections are checked here, before a long measurement. */
assay_status as_report_options_read(assay_env *env, const assay_options *options, as_report_options *out);
bool         as_cli_colour(const as_report_options *o, FILE *file);
/* The text of one run or several to standard output: one screen each, or everything that was asked for. */
assay_status as_cli_text(as_cli *cli, const as_report_options *o, const assay_facts *const *facts, size_t n);

/* Prints a brief to standard output and frees it. */
assay_status as_cli_brief(as_cli *cli, const as_report_options *o, as_brief *b);

/* Writes text to standard output unless another format was sent there, and every file that was asked for. */
assay_status as_cli_show(as_cli *cli, const as_report_options *o, const assay_facts *facts);
/* Ends a verb that measures: shows the facts (NULL: none), frees them, and returns the status of the measurement with its
 * message; a failure to show them comes first. */
assay_status as_cli_finish(as_cli *cli, const as_report_options *o, assay_facts *facts, assay_status measured);
/* Whether any of these formats was asked for; with to_stdout only those that go to standard output ("-") count. */
bool as_cli_forms_asked(const as_report_options *o, bool to_stdout);
/* Traces in other tools' formats, as the options ask. */
assay_status as_cli_export(as_cli *cli, const assay_trace *const *traces, size_t n);
/* Writes every file that was asked for, of one run or several. */
assay_status as_cli_forms_write(as_cli *cli, const as_report_options *o, const assay_facts *const *facts, size_t n);

#endif

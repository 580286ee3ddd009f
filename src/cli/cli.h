/* cli.h - what a verb is.  One verb a file: cmd_<name>.c exports `const as_verb as_cmd_<name>`.
 *
 * A verb reads its options from the one table, prints to standard output what was asked for, and returns a status; the
 * sentence of a failure is printed by main, once. */
#ifndef AS_CLI_CLI_H
#define AS_CLI_CLI_H

#include <stdio.h>

#include "base/env.h"
#include "base/options.h"

typedef struct as_cli {
    assay_env     *env;
    assay_options *options;
    const char   **args; /* what is not an option */
    int            n_args;
    int            exit_code; /* of a verb that did what was asked and has a verdict: 1, 3 or 4; see main.c */
} as_cli;

typedef struct as_verb {
    const char *name;
    const char *summary; /* one line, what it answers */
    const char *usage;   /* "MODEL [options]" */
    const char *details; /* a paragraph for --help */
    const char *example; /* a command line that works as it stands */
    int         min_args, max_args;
    assay_status (*run)(as_cli *cli);
} as_verb;

extern const as_verb *const as_cmd_table[];

/* Whether text to this stream is coloured, by the option colour. */
bool as_cli_colour(as_cli *cli, FILE *file);

#endif

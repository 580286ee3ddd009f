/* cli.h - what a verb is.  One verb a file: cmd_<name>.c exports `const as_verb as_cmd_<name>`.
 *
 * A verb lists the options that it takes, reads them once at its beginning, prints to standard output what was asked for, and returns a status; the
 * sentence of a failure is printed by main, once. */
#ifndef AS_CLI_CLI_H
#define AS_CLI_CLI_H

#include <stdio.h>

#include "base/env.h"
#include "base/options.h"

typedef struct as_cli {
    assay_env           *env;
    const assay_options *options;
    const char         **args; /* what is not an option */
    int                  n_args;
    const char          *verb;      /* its name */
    int                  exit_code; /* of a verb that did what was asked and has a verdict: 1, 3 or 4; see main.c */
} as_cli;

/* Where a verb's --help differs from the table; NULL: as there. */
typedef struct as_verb_text {
    const char *key, *standard, *value, *help;
} as_verb_text;

#define AS_OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AS_TEXTS(...)   ((const as_verb_text[]){__VA_ARGS__, {.key = NULL}})

typedef struct as_verb {
    const char         *name;
    const char         *summary; /* one line, what it answers */
    const char         *usage;   /* "MODEL [options]" */
    const char         *details; /* a paragraph for --help */
    const char         *example; /* a command line that works as it stands */
    int                 min_args, max_args;
    const char *const  *options; /* AS_OPTIONS("batch", ...); NULL: it takes none */
    const as_verb_text *texts;   /* AS_TEXTS({.key = "budget", .standard = "1s"}, ...); NULL: all as in the table */
    assay_status (*run)(as_cli *cli);
} as_verb;

extern const as_verb *const as_cmd_table[];

/* How the verb describes an option that it takes: the table's, with its own texts in their place. */
as_option_def as_verb_option(const as_verb *verb, const char *key);

#endif

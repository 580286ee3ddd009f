/* cli.h - what a verb is.  One file per verb: cmd_<name>.c exports `const as_verb as_cmd_<name>`.
 *
 * A verb lists the options that it takes, reads them once at its beginning, prints to standard output what was asked for, and
 * returns a status; main prints the message of a failure, once. */
#ifndef AS_CLI_CLI_H
#define AS_CLI_CLI_H

#include <stdio.h>

#include "base/env.h"
#include "base/options.h"

typedef struct as_cli {
    assay_env           *env;
    const assay_options *options;
    assay_options       *own_options; /* the same, for --preset and run files, which set what the user did not */
    const char         **args;        /* what is not an option */
    int                  n_args;
    int                  exit_code; /* of a verb that succeeded and has a verdict: 1, 3 or 4; see main.c */
    bool                 quiet;     /* --quiet: no progress, no "wrote FILE", of a basic report its answer alone */
    struct as_cli_told {
        const char *path; /* the option's own text */
        char        text[160];
    } told[16]; /* what a file holds that does not hold everything, for the line that names it */
    int n_told;
} as_cli;

/* The headings of `assay --help`, in this order. */
typedef enum as_verb_group { AS_VERBS_LOOK, AS_VERBS_COMPARE, AS_VERBS_MACHINE, AS_VERBS_HOUSE, AS_N_VERB_GROUPS } as_verb_group;

/* The kind of a verb's arguments, for shell completion. */
typedef enum as_arg_kind {
    AS_ARG_NONE,
    AS_ARG_WORD,  /* one of as_verb.words first; what follows is not completed */
    AS_ARG_MODEL, /* a built-in network or a file */
    AS_ARG_FILE
} as_arg_kind;

/* Where a verb's --help differs from the option table; NULL: the same. */
typedef struct as_verb_text {
    const char *key, *standard, *value, *help;
    const char *bare;     /* the value where none is given: `--batch` at the end, or before another option; NULL: one must be */
    const char *suffixes; /* -o FILE means this option when FILE ends with one of these */
} as_verb_text;

#define AS_OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AS_TEXTS(...)   ((const as_verb_text[]){__VA_ARGS__, {.key = NULL}})

typedef struct as_verb {
    const char         *name;
    const char         *summary; /* one line: what it does */
    const char         *usage;   /* "MODEL [options]" */
    const char         *details; /* a paragraph for --help */
    const char         *example; /* a command line that works unchanged */
    const char         *needs;   /* "a MODEL, for example mlp-small": printed when an argument is missing; NULL: none is required */
    as_verb_group       group;
    int                 order; /* within its group: the most used first */
    as_arg_kind         takes;
    const char         *words; /* AS_ARG_WORD: "save list show", separated by spaces */
    int                 min_args, max_args;
    bool                runs_command; /* the first argument is a command: what follows it is the command's own */
    const char *const  *options;      /* AS_OPTIONS("batch", ...); NULL: it takes none */
    const as_verb_text *texts;        /* AS_TEXTS({.key = "budget", .standard = "1s"}, ...); NULL: all as in the table */
    /* Before the files that the options name are checked; NULL: nothing to do.  A run file sets options here. */
    assay_status (*prepare)(as_cli *cli);
    assay_status (*run)(as_cli *cli);
} as_verb;

extern const as_verb *const as_cmd_table[];

const as_verb *as_verb_find(const char *name);
/* Options of every verb that no verb lists: a NULL-terminated list. */
extern const char *const as_common_options[];
bool                     as_verb_takes(const as_verb *verb, const char *key);
/* How the verb describes an option: the table's entry, with the verb's own texts where it has them. */
as_option_def as_verb_option(const as_verb *verb, const char *key);

/* Options and arguments from the command line, argv[2] on.  *help: --help was given, and nothing else counts. */
assay_status as_arguments_read(as_cli *cli, assay_options *options, const as_verb *verb, int argc, char **argv, bool *help);
/* A device list in which the word gpu is replaced by the first GPU of this machine; names that GPU on standard error. */
assay_status as_gpu_resolve(assay_env *env, const char *list, char *out, size_t size);

/* `assay --help` and `assay VERB --help`, in lines that fit the terminal. */
void as_overview_print(FILE *file);
void as_help_print(const as_verb *verb, FILE *file);

#endif

/* main.c - the program: finds the verb, reads the options by the one table, maps a status to an exit code.
 *
 * Exit codes: 0 fine, 1 regression or failed requirement, 2 usage or bad input, 3 critical regression, 4 unresolved,
 * 5 could not run or incomplete. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/screen.h"
#include "cli/stop.h"

enum { EXIT_USAGE = 2, EXIT_NOT_RUN = 5 };

static int exit_code(assay_status status)
{
    switch (status) {
    case ASSAY_OK: return 0;
    case ASSAY_BAD_INPUT:
    case ASSAY_NOT_FOUND:
    case ASSAY_IO:
    case ASSAY_UNSUPPORTED: return EXIT_USAGE;
    default: return EXIT_NOT_RUN;
    }
}

/* "profile needs a MODEL, for example mlp-small". */
static assay_status fail_missing(assay_env *env, const as_verb *verb)
{
    return verb->needs ? as_fail(env, ASSAY_BAD_INPUT, "%s needs %s", verb->name, verb->needs)
                       : as_fail(env, ASSAY_BAD_INPUT, "%s needs more: assay %s %s", verb->name, verb->name, verb->usage);
}

static assay_status run_verb(as_cli *cli, const as_verb *verb)
{
    if (cli->n_args < verb->min_args)
        return fail_missing(cli->env, verb);
    if (cli->n_args > verb->max_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "%s has no use for '%s'; its arguments are: %s", verb->name,
                       cli->args[verb->max_args], *verb->usage ? verb->usage : "none");
    if (verb->prepare)
        AS_TRY(verb->prepare(cli));
    as_outputs outputs; /* checked first, so that hours of measuring do not end with a file that cannot be written */
    AS_TRY(as_outputs_check(cli, verb, &outputs));
    assay_status status = verb->run(cli);
    if (!cli->quiet)
        as_outputs_tell(cli, &outputs, status == ASSAY_OK);
    AS_TRY(status);
    if (fflush(stdout) || ferror(stdout))
        return as_fail(cli->env, ASSAY_IO, "standard output: cannot write");
    /* An option that was accepted but never read is a bug. */
    const char *unused = as_options_unused(cli->options);
    if (unused)
        return as_fail(cli->env, ASSAY_INTERNAL, "option --%s was given and had no effect: please report this", unused);
    return ASSAY_OK;
}

/* Whether anything other than text for readers goes to standard output.  Files sent to "-" and the line protocol are passed
 * through unchanged. */
static bool writes_raw(const as_cli *cli, const as_verb *verb)
{
    for (const char *const *key = verb->options; key && *key; key++) {
        const as_option_def *def = as_option_find(*key);
        as_texts             all = as_options_given(cli->options, *key);
        for (size_t i = 0; i < all.n; i++)
            if (def->type == AS_OPT_FILE && !strcmp(all.items[i], "-"))
                return true;
        if (all.n && !strcmp(*key, "output-format") && strcmp(all.items[all.n - 1], "text"))
            return true;
    }
    return false;
}

/* A verb that answers line by line must not wait for a pager. */
static bool answers(const as_cli *cli, const as_verb *verb)
{
    static const char *const keys[] = {"stream", "speak", "arm"};
    for (size_t i = 0; i < AS_COUNT(keys); i++)
        if (as_verb_takes(verb, keys[i]) && as_options_is_set(cli->options, keys[i]))
            return true;
    return false;
}

static void screen_set(const as_cli *cli, const as_verb *verb)
{
    bool no_pager = as_options_flag(cli->options, "no-pager");
    if (writes_raw(cli, verb))
        as_screen_raw();
    if (!no_pager && !cli->quiet && !answers(cli, verb))
        as_screen_page();
}

static int unknown_verb(const char *name)
{
    const char *words[64];
    int         n = 0;
    for (; as_cmd_table[n] && n < 63; n++)
        words[n] = as_cmd_table[n]->name;
    words[n] = NULL;
    const char *near = as_nearest(name, words);
    fprintf(stderr, "assay: no verb '%s'%s%s%s; assay --help lists them\n", name, near ? " (did you mean " : "", near ? near : "",
            near ? "?)" : "");
    return EXIT_USAGE;
}

static int verb_main(const as_verb *verb, int argc, char **argv)
{
    for (int i = 2; i < argc;
         i++) /* a candidate is launched many times: calibrating a faster clock would cost more than it saves */
        if (!strcmp(argv[i], "--speak") || !strcmp(argv[i], "--arm"))
            setenv("ASSAY_CLOCK", "monotonic", 0);
    as_stop_begin();
    as_cli         cli = {.args = calloc((size_t)argc, sizeof(char *))};
    assay_options *options = NULL;
    bool           help = false;
    assay_status   status = cli.args ? assay_env_new(&cli.env) : ASSAY_NO_MEMORY;
    if (status == ASSAY_OK)
        status = assay_options_new(cli.env, &options);
    cli.options = cli.own_options = options;
    if (status == ASSAY_OK)
        status = as_arguments_read(&cli, options, verb, argc, argv, &help);
    cli.quiet = status == ASSAY_OK && as_options_flag(options, "quiet");
    if (status == ASSAY_OK)
        screen_set(&cli, verb);
    if (status == ASSAY_OK && help) {
        as_help_print(verb, stdout);
    } else if (status == ASSAY_OK) {
        as_stop_env(cli.env);
        status = run_verb(&cli, verb);
    }
    as_stop_end();
    int error = as_screen_close();
    if (status == ASSAY_OK && error)
        status = as_fail(cli.env, ASSAY_IO, "standard output: cannot write: %s", strerror(error));
    if (status == ASSAY_CANCELLED && atomic_load(&cli.env->stake) == AS_STAKE_NONE)
        as_stop_sentence(cli.env, cli.env->message, sizeof cli.env->message);
    if (status != ASSAY_OK)
        fprintf(stderr, "assay: %s\n", cli.env && *assay_message(cli.env) ? assay_message(cli.env) : assay_status_text(status));
    assay_options_free(options);
    assay_env_free(cli.env);
    free(cli.args);
    return status == ASSAY_OK ? cli.exit_code : exit_code(status);
}

static bool is_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"); }

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* if the reader of a pipe leaves, the run must still be stored */
    if (argc < 2) {
        as_overview_print(stderr);
        return EXIT_USAGE;
    }
    if (!as_screen_open()) {
        fprintf(stderr, "assay: no memory to begin with\n");
        return EXIT_NOT_RUN;
    }
    if (argc < 3 && is_help(argv[1])) {
        as_screen_page();
        as_overview_print(stdout);
        return as_screen_close() ? EXIT_USAGE : 0;
    }
    char help[] = "--help";
    if (is_help(argv[1])) { /* assay help VERB is assay VERB --help */
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = help;
    }
    const char    *name = !strcmp(argv[1], "--version") ? "version" : argv[1];
    const as_verb *verb = as_verb_find(name);
    if (!verb)
        return unknown_verb(name);
    return verb_main(verb, argc, argv);
}

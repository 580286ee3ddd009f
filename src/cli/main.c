/* main.c - the program: finds the verb, reads the options by the one table, maps a status to an exit code.
 *
 * Exit codes: 0 fine, 1 regression or failed requirement, 2 usage or bad input, 3 critical regression, 4 unresolved,
 * 5 could not run or incomplete. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/outputs.h"
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

static const as_verb *verb_find(const char *name)
{
    for (int i = 0; as_cmd_table[i]; i++)
        if (!strcmp(as_cmd_table[i]->name, name))
            return as_cmd_table[i];
    return NULL;
}

static void print_overview(FILE *file)
{
    fprintf(file, "assay %s: a performance laboratory for neural networks\n\nusage: assay VERB [MODEL] [options]\n\n",
            ASSAY_VERSION);
    for (int i = 0; as_cmd_table[i]; i++)
        fprintf(file, "  %-9s %s\n", as_cmd_table[i]->name, as_cmd_table[i]->summary);
    fprintf(file, "\nassay VERB --help shows a verb's options and an example; `assay list models` shows built-in networks.\n"
                  "MODEL is a file (.onnx, .json) or a name with parameters, like mlp:sizes=784x128x10.\n"
                  "\nStart here:  assay profile mlp-small\n");
}

static bool takes(const as_verb *verb, const char *key) { return verb->options && as_keys_have(verb->options, key); }

as_option_def as_verb_option(const as_verb *verb, const char *key)
{
    as_option_def def = *as_option_find(key);
    for (const as_verb_text *t = verb->texts; t && t->key; t++)
        if (!strcmp(t->key, key)) {
            def.standard = t->standard ? t->standard : def.standard;
            def.value = t->value ? t->value : def.value;
            def.help = t->help ? t->help : def.help;
        }
    return def;
}

static void print_group(const as_verb *verb, as_option_group group)
{
    static const char *const names[AS_N_GROUPS] = {
        [AS_GROUP_SUBJECT] = "what is run", [AS_GROUP_PLAN] = "how it is run", [AS_GROUP_MEASURE] = "measuring",
        [AS_GROUP_JUDGE] = "judging",       [AS_GROUP_STORE] = "what is kept", [AS_GROUP_OUTPUT] = "output"};
    bool any = false;
    for (const char *const *key = verb->options; key && *key; key++) {
        as_option_def def = as_verb_option(verb, *key);
        char          left[64];
        if (def.group != group)
            continue;
        if (!any)
            printf("\n%s:\n", names[group]);
        any = true;
        snprintf(left, sizeof left, "--%s%s%s", def.key, def.value ? " " : "", def.value ? def.value : "");
        printf("  %-22s %s", left, def.help);
        if (def.standard)
            printf(" [%s]", def.standard);
        printf("%s\n", def.many ? " (may be repeated)" : "");
    }
}

static void print_help(const as_verb *verb)
{
    printf("assay %s: %s\n\nusage: assay %s%s%s\n\n%s\n", verb->name, verb->summary, verb->name, *verb->usage ? " " : "",
           verb->usage, verb->details);
    for (int i = 0; i < AS_N_GROUPS; i++)
        print_group(verb, (as_option_group)i);
    printf("\nexample:\n  %s\n", verb->example);
}

/* Names the verbs that take it, or the option of this verb that may have been meant. */
static assay_status fail_option(assay_env *env, const as_verb *verb, const char *key)
{
    static const char *const none[] = {NULL};
    as_text                  others = {0};
    for (int i = 0; as_cmd_table[i]; i++)
        if (takes(as_cmd_table[i], key))
            as_text_printf(&others, "%s%s", others.length ? ", " : "", as_cmd_table[i]->name);
    const char *near = as_nearest(key, verb->options ? verb->options : none);
    if (others.length)
        as_fail(env, ASSAY_BAD_INPUT, "no option --%s here: it is for %s; see assay %s --help", key, others.data, verb->name);
    else
        as_fail(env, ASSAY_BAD_INPUT, "no option --%s%s%s%s; see assay %s --help", key, near ? " (did you mean --" : "",
                near ? near : "", near ? "?)" : "", verb->name);
    as_text_drop(&others);
    return ASSAY_BAD_INPUT;
}

/* Options are --key value or --key=value; a flag has no value.  "--" ends them. */
static assay_status read_arguments(as_cli *cli, assay_options *options, const as_verb *verb, int argc, char **argv, bool *help)
{
    assay_env *env = cli->env;
    bool       only_args = false;
    for (int i = 2; i < argc; i++) {
        const char *word = argv[i];
        if (only_args || strncmp(word, "--", 2)) {
            if (!only_args && word[0] == '-' && word[1]) {
                if (!strcmp(word, "-h")) {
                    *help = true;
                    return ASSAY_OK;
                }
                return as_fail(env, ASSAY_BAD_INPUT, "option '%s': options have two dashes; see assay %s --help", word, verb->name);
            }
            cli->args[cli->n_args++] = word;
            continue;
        }
        if (!word[2]) {
            only_args = true;
            continue;
        }
        if (!strcmp(word, "--help")) {
            *help = true;
            return ASSAY_OK;
        }
        char        key[64];
        const char *equals = strchr(word, '=');
        size_t      length = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
        snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), word + 2);
        const as_option_def *def = as_option_find(key);
        if (!def || !takes(verb, key))
            return fail_option(env, verb, key);
        const char *value = equals ? equals + 1 : "on";
        if (!equals && def->type != AS_OPT_FLAG) {
            if (i + 1 >= argc)
                return as_fail(env, ASSAY_BAD_INPUT, "option --%s needs a value (%s)", key, def->value ? def->value : "VALUE");
            value = argv[++i];
        }
        AS_TRY(assay_options_set(env, options, key, value));
    }
    return ASSAY_OK;
}

/* As `| head` does, which is no failure of ours. */
static bool reader_has_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

static assay_status run_verb(as_cli *cli, const as_verb *verb)
{
    if (cli->n_args < verb->min_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "something is missing: usage: assay %s %s", verb->name, verb->usage);
    if (cli->n_args > verb->max_args)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "'%s' is one argument too many: usage: assay %s %s", cli->args[verb->max_args],
                       verb->name, verb->usage);
    as_outputs outputs; /* checked first: hours of measuring must not end in a file that cannot be written */
    AS_TRY(as_outputs_check(cli, verb, &outputs));
    assay_status status = verb->run(cli);
    as_outputs_tell(&outputs, status == ASSAY_OK);
    AS_TRY(status);
    if ((fflush(stdout) || ferror(stdout)) && !reader_has_left())
        return as_fail(cli->env, ASSAY_IO, "standard output: cannot write");
    /* An option that was accepted and read by nobody would be a lie. */
    const char *unused = as_options_unused(cli->options);
    if (unused)
        return as_fail(cli->env, ASSAY_INTERNAL, "option --%s was given and had no effect: please report this", unused);
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_overview(argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : 0;
    }
    const char    *name = !strcmp(argv[1], "--version") ? "version" : argv[1];
    const as_verb *verb = verb_find(name);
    if (!verb) {
        const char *words[64];
        int         n = 0;
        for (; as_cmd_table[n] && n < 63; n++)
            words[n] = as_cmd_table[n]->name;
        words[n] = NULL;
        const char *near = as_nearest(name, words);
        fprintf(stderr, "assay: no verb '%s'%s%s%s; assay --help lists them\n", name, near ? " (did you mean " : "",
                near ? near : "", near ? "?)" : "");
        return EXIT_USAGE;
    }
    for (int i = 2; i < argc;
         i++) /* an arm is launched again and again: calibrating a faster clock would cost more than it saves */
        if (!strcmp(argv[i], "--speak") || !strcmp(argv[i], "--arm"))
            setenv("ASSAY_CLOCK", "monotonic", 0);
    as_stop_begin(verb->name);
    as_cli         cli = {.verb = verb->name, .args = calloc((size_t)argc, sizeof(char *))};
    assay_options *options = NULL;
    bool           help = false;
    assay_status   status = cli.args ? assay_env_new(&cli.env) : ASSAY_NO_MEMORY;
    if (status == ASSAY_OK)
        status = assay_options_new(cli.env, &options);
    cli.options = options;
    if (status == ASSAY_OK)
        status = read_arguments(&cli, options, verb, argc, argv, &help);
    if (status == ASSAY_OK && help) {
        print_help(verb);
    } else if (status == ASSAY_OK) {
        as_stop_env(cli.env);
        signal(SIGPIPE, SIG_IGN); /* a reader that leaves is no reason to vanish before the run is kept */
        status = run_verb(&cli, verb);
    }
    as_stop_end();
    if (status == ASSAY_CANCELLED && atomic_load(&cli.env->stake) == AS_STAKE_NONE)
        as_stop_sentence(cli.env, cli.env->message, sizeof cli.env->message);
    if (status != ASSAY_OK)
        fprintf(stderr, "assay %s: %s\n", verb->name,
                cli.env && *assay_message(cli.env) ? assay_message(cli.env) : assay_status_text(status));
    assay_options_free(options);
    assay_env_free(cli.env);
    free(cli.args);
    return status == ASSAY_OK ? cli.exit_code : exit_code(status);
}

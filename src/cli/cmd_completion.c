/* cmd_completion.c - scripts that complete assay's verbs, options, values, models and files in bash, zsh and fish: the option
 * table in the syntax of each shell. */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "model/model.h"

/* --- What an option's value can be --------------------------------------------------------------------- */

typedef enum value_kind { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_OTHER } value_kind;

static value_kind value_of(const as_option_def *def, const char **words)
{
    *words = "";
    if (def->type == AS_OPT_FLAG)
        return VALUE_NONE;
    if (def->type == AS_OPT_CHOICE)
        *words = def->choices;
    if (!strcmp(def->key, "device") || !strcmp(def->key, "devices"))
        *words = "cpu gpu null opencl";
    if (**words)
        return VALUE_WORDS;
    return def->type == AS_OPT_FILE || (def->value && strstr(def->value, "FILE")) || !strcmp(def->key, "bin") ? VALUE_FILE
                                                                                                              : VALUE_OTHER;
}

static bool is_network(int i) { return !as_zoo_table[i]->axes; }

static void models_put(FILE *file)
{
    for (int i = 0, n = 0; as_zoo_table[i]; i++)
        if (is_network(i))
            fprintf(file, "%s%s", n++ ? " " : "", as_zoo_table[i]->name);
}

static void verbs_put(FILE *file)
{
    for (int i = 0; as_cmd_table[i]; i++)
        fprintf(file, "%s ", as_cmd_table[i]->name);
    fputs("help", file);
}

/* Calls `one` for each option of the verb, including those of all verbs. */
static void options_walk(const as_verb *verb, FILE *file, void (*one)(FILE *file, const as_verb *verb, const as_option_def *def))
{
    for (const char *const *key = verb->options; key && *key; key++) {
        as_option_def def = as_verb_option(verb, *key);
        one(file, verb, &def);
    }
    for (int i = 0; as_common_options[i]; i++)
        one(file, verb, as_option_find(as_common_options[i]));
}

/* Help within quotes, without characters that have a meaning for the shell. */
static void help_put(FILE *file, const char *text)
{
    for (; *text; text++)
        if (!strchr("'`\"[]\\$", *text))
            fputc(*text == ':' ? ',' : *text, file);
}

/* --- bash ------------------------------------------------------------------------------------------------- */

static void bash_name(FILE *file, const as_verb *verb, const as_option_def *def)
{
    (void)verb;
    fprintf(file, " --%s", def->key);
    if (def->letter)
        fprintf(file, " -%c", def->letter);
}

static void bash_values(FILE *file)
{
    const char *words;
    for (const as_option_def *def = as_option_table; def->key; def++) {
        value_kind kind = value_of(def, &words);
        if (kind == VALUE_NONE)
            continue;
        fprintf(file, "    --%s", def->key);
        if (def->letter && !def->stands)
            fprintf(file, "|-%c", def->letter);
        fputs(") ", file);
        if (kind == VALUE_FILE)
            fputs("_assay_files; return", file);
        else if (kind == VALUE_WORDS)
            fprintf(file, "_assay_words \"%s\"; return", words);
        else
            fputs("return", file);
        fputs(" ;;\n", file);
    }
}

static void bash_arguments(FILE *file)
{
    for (int i = 0; as_cmd_table[i]; i++) {
        const as_verb *v = as_cmd_table[i];
        if (v->takes == AS_ARG_WORD)
            fprintf(file, "    %s) [ \"$COMP_CWORD\" != 2 ] || _assay_words \"%s\" ;;\n", v->name, v->words);
        if (v->takes == AS_ARG_MODEL)
            fprintf(file, "    %s) _assay_words \"$models\"; _assay_files ;;\n", v->name);
        if (v->takes == AS_ARG_FILE)
            fprintf(file, "    %s) _assay_files ;;\n", v->name);
    }
}

static void bash_put(FILE *file)
{
    fputs("# bash completion for assay, written by `assay completion bash`.\n"
          "_assay_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\")); }\n"
          "_assay_files() {\n"
          "    local IFS=$'\\n'\n"
          "    COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
          "    compopt -o filenames 2>/dev/null\n"
          "}\n"
          "_assay() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} options\n"
          "    local verbs=\"",
          file);
    verbs_put(file);
    fputs("\"\n    local models=\"", file);
    models_put(file);
    fputs("\"\n    COMPREPLY=()\n"
          "    # --key=value comes as three words\n"
          "    if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then _assay_words \"$verbs\"; return; fi\n"
          "    if [ \"$verb\" = help ]; then _assay_words \"$verbs\"; return; fi\n"
          "    case $prev in\n",
          file);
    bash_values(file);
    fputs("    -o) _assay_files; return ;;\n    esac\n    case $verb in\n", file);
    for (int i = 0; as_cmd_table[i]; i++) {
        fprintf(file, "    %s) options=\"-h --help", as_cmd_table[i]->name);
        options_walk(as_cmd_table[i], file, bash_name);
        fputs("\" ;;\n", file);
    }
    fputs("    esac\n    case $cur in -*) _assay_words \"$options\"; return ;; esac\n    case $verb in\n", file);
    bash_arguments(file);
    fputs("    esac\n}\ncomplete -F _assay assay\n", file);
}

/* --- zsh -------------------------------------------------------------------------------------------------- */

static void zsh_option(FILE *file, const as_verb *verb, const as_option_def *def)
{
    const char *words;
    value_kind  kind = value_of(def, &words);
    (void)verb;
    for (int i = 0; i < 2; i++) { /* the letter has a line of its own, because it may have another value */
        bool letter = i == 1, takes = kind != VALUE_NONE && !(letter && def->stands);
        if (letter && !def->letter)
            continue;
        fputs(" \\\n        '", file);
        if (def->many)
            fputc('*', file);
        if (letter)
            fprintf(file, "-%c%s", def->letter, takes ? "+" : "");
        else
            fprintf(file, "--%s%s", def->key, takes ? "=" : "");
        fputc('[', file);
        help_put(file, def->help);
        fputc(']', file);
        if (takes) {
            fputs(":", file);
            help_put(file, def->value ? def->value : "VALUE");
            fputs(":", file);
            fprintf(file, kind == VALUE_WORDS ? "(%s)" : kind == VALUE_FILE ? "_files" : " ", words);
        }
        fputc('\'', file);
    }
}

static void zsh_put(FILE *file)
{
    fputs("#compdef assay\n# zsh completion for assay, written by `assay completion zsh`.\n"
          "_assay_models() {\n    local -a models\n    models=(",
          file);
    models_put(file);
    fputs(")\n    _alternative 'models:built-in network:compadd -a models' 'files:file:_files'\n}\n"
          "_assay() {\n    local -a verbs\n    verbs=(\n",
          file);
    for (int i = 0; as_cmd_table[i]; i++) {
        fprintf(file, "        '%s:", as_cmd_table[i]->name);
        help_put(file, as_cmd_table[i]->summary);
        fputs("'\n", file);
    }
    fputs("        'help:the options of a verb'\n    )\n"
          "    if ((CURRENT == 2)) || [[ ${words[2]} = help ]]; then\n        _describe verb verbs\n        return\n    fi\n"
          "    local verb=${words[2]}\n    shift words\n    ((CURRENT--))\n    case $verb in\n",
          file);
    for (int i = 0; as_cmd_table[i]; i++) {
        const as_verb *v = as_cmd_table[i];
        fprintf(
            file,
            "    %s)\n        _arguments -s \\\n        '(- *)'{-h,--help}'[show the options]' \\\n        '-o+[write FILE; its suffix says what]:FILE:_files'",
            v->name);
        options_walk(v, file, zsh_option);
        if (v->takes == AS_ARG_MODEL)
            fputs(" \\\n        '*:model:_assay_models'", file);
        if (v->takes == AS_ARG_FILE)
            fputs(" \\\n        '*:file:_files'", file);
        if (v->takes == AS_ARG_WORD)
            fprintf(file, " \\\n        '1:what:(%s)' \\\n        '*: :_files'", v->words);
        fputs("\n        ;;\n", file);
    }
    fputs("    esac\n}\n_assay \"$@\"\n", file);
}

/* --- fish -------------------------------------------------------------------------------------------------- */

static void fish_option(FILE *file, const as_verb *verb, const as_option_def *def)
{
    const char *words;
    value_kind  kind = value_of(def, &words);
    fprintf(file, "complete -c assay -n '__fish_seen_subcommand_from %s' -l %s", verb->name, def->key);
    if (def->letter && !def->stands)
        fprintf(file, " -s %c", def->letter);
    if (kind == VALUE_FILE)
        fputs(" -r -F", file);
    else if (kind == VALUE_WORDS)
        fprintf(file, " -x -a '%s'", words);
    else if (kind == VALUE_OTHER)
        fputs(" -x", file);
    fputs(" -d '", file);
    help_put(file, def->help);
    fputs("'\n", file);
    if (def->letter && def->stands)
        fprintf(file, "complete -c assay -n '__fish_seen_subcommand_from %s' -s %c -d 'the same as --%s %s'\n", verb->name,
                def->letter, def->key, def->stands);
}

static void fish_put(FILE *file)
{
    fputs("# fish completion for assay, written by `assay completion fish`.\ncomplete -c assay -f\n"
          "complete -c assay -n __fish_use_subcommand -a help -d 'the options of a verb'\n"
          "complete -c assay -n '__fish_seen_subcommand_from help' -a '",
          file);
    verbs_put(file);
    fputs("'\n", file);
    for (int i = 0; as_cmd_table[i]; i++) {
        const as_verb *v = as_cmd_table[i];
        fprintf(file, "complete -c assay -n __fish_use_subcommand -a %s -d '", v->name);
        help_put(file, v->summary);
        fputs("'\n", file);
        if (v->takes == AS_ARG_WORD)
            fprintf(file, "complete -c assay -n '__fish_seen_subcommand_from %s' -a '%s'\n", v->name, v->words);
        if (v->takes == AS_ARG_MODEL) {
            fprintf(file, "complete -c assay -n '__fish_seen_subcommand_from %s' -a '", v->name);
            models_put(file);
            fputs("'\n", file);
        }
        if (v->takes != AS_ARG_NONE)
            fprintf(file, "complete -c assay -n '__fish_seen_subcommand_from %s' -F\n", v->name);
        fprintf(file, "complete -c assay -n '__fish_seen_subcommand_from %s' -s o -r -F -d 'write FILE, its suffix says what'\n",
                v->name);
        fprintf(file, "complete -c assay -n '__fish_seen_subcommand_from %s' -s h -l help -d 'show the options'\n", v->name);
        options_walk(v, file, fish_option);
    }
}

static const struct shell {
    const char *name;
    void (*put)(FILE *file);
} shells[] = {{"bash", bash_put}, {"zsh", zsh_put}, {"fish", fish_put}};

static assay_status run(as_cli *cli)
{
    for (size_t i = 0; i < AS_COUNT(shells); i++)
        if (!strcmp(cli->args[0], shells[i].name)) {
            shells[i].put(stdout);
            return ASSAY_OK;
        }
    return as_fail(cli->env, ASSAY_BAD_INPUT, "completion: '%s' is not one of bash, zsh and fish", cli->args[0]);
}

const as_verb as_cmd_completion = {
    .name = "completion",
    .summary = "a script that completes assay's words in bash, zsh or fish",
    .usage = "bash|zsh|fish",
    .details = "Prints the script.  make install puts it where each shell looks; to try it without, in bash:\n"
               "  source <(assay completion bash)\n"
               "in zsh, after compinit:\n"
               "  source <(assay completion zsh); compdef _assay assay\n"
               "in fish:\n"
               "  assay completion fish | source",
    .example = "assay completion bash",
    .needs = "the name of a shell: bash, zsh or fish",
    .group = AS_VERBS_HOUSE,
    .order = 3,
    .takes = AS_ARG_WORD,
    .words = "bash zsh fish",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};

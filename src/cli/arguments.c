/* arguments.c - turns the command line into options and arguments: long and short options, aliases, -o by the suffix of its
 * file. */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

const char *const as_common_options[] = {"quiet", "no-pager", NULL};

const as_verb *as_verb_find(const char *name)
{
    for (int i = 0; as_cmd_table[i]; i++)
        if (!strcmp(as_cmd_table[i]->name, name))
            return as_cmd_table[i];
    return NULL;
}

bool as_verb_takes(const as_verb *verb, const char *key)
{
    return as_keys_have(as_common_options, key) || (verb->options && as_keys_have(verb->options, key));
}

as_option_def as_verb_option(const as_verb *verb, const char *key)
{
    as_option_def def = *as_option_find(key);
    for (const as_verb_text *t = verb->texts; t && t->key; t++)
        if (!strcmp(t->key, key)) {
            def.standard = t->standard ? t->standard : def.standard;
            def.value = t->value ? t->value : def.value;
            def.help = t->help ? t->help : def.help;
            def.suffixes = t->suffixes ? t->suffixes : def.suffixes;
        }
    return def;
}

/* --- Refusals --------------------------------------------------------------------------------------- */

/* Names the verbs that take it, or the option of this verb that may have been meant. */
static assay_status fail_option(assay_env *env, const as_verb *verb, const char *key)
{
    static const char *const none[] = {NULL};
    as_text                  others = {0};
    for (int i = 0; as_cmd_table[i]; i++)
        if (as_verb_takes(as_cmd_table[i], key))
            as_text_printf(&others, "%s%s", others.length ? ", " : "", as_cmd_table[i]->name);
    const char *near = as_nearest(key, verb->options ? verb->options : none);
    if (others.length)
        as_fail(env, ASSAY_BAD_INPUT, "%s has no option --%s, which is for %s; see assay help %s", verb->name, key, others.data,
                verb->name);
    else
        as_fail(env, ASSAY_BAD_INPUT, "%s has no option --%s%s%s%s; see assay help %s", verb->name, key,
                near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "", verb->name);
    as_text_drop(&others);
    return ASSAY_BAD_INPUT;
}

static assay_status fail_suffix(assay_env *env, const as_verb *verb, const char *file)
{
    as_text all = {0};
    for (const char *const *key = verb->options; key && *key; key++) {
        const char *list = as_verb_option(verb, *key).suffixes;
        size_t      n;
        const char *word = list ? as_word_next(&list, &n) : NULL;
        if (word)
            as_text_printf(&all, "%s%.*s", all.length ? ", " : "", (int)n, word);
    }
    if (all.length)
        as_fail(env, ASSAY_BAD_INPUT, "option -o %s: %s tells by the suffix what to write, and knows %s", file, verb->name,
                all.data);
    else
        as_fail(env, ASSAY_BAD_INPUT, "option -o %s: %s writes no file", file, verb->name);
    as_text_drop(&all);
    return ASSAY_BAD_INPUT;
}

/* --- One option --------------------------------------------------------------------------------------- */

/* "cpu,gpu" of --device and --devices, "device=cpu,gpu" of --vary. */
static const char *devices_in(const char *key, const char *value)
{
    if (!strcmp(key, "device") || !strcmp(key, "devices"))
        return value;
    return !strcmp(key, "vary") && (!strncmp(value, "device=", 7) || !strncmp(value, "devices=", 8)) ? strchr(value, '=') + 1
                                                                                                     : NULL;
}

static assay_status option_set(assay_env *env, assay_options *options, const char *key, const char *value)
{
    const char *list = devices_in(key, value);
    char        resolved[1024];
    if (!list || !strstr(list, "gpu"))
        return assay_options_set(env, options, key, value);
    size_t before = (size_t)(list - value);
    if (before >= sizeof resolved)
        return as_fail(env, ASSAY_BAD_INPUT, "option --%s: a value of %zu bytes is too long", key, strlen(value));
    memcpy(resolved, value, before);
    AS_TRY(as_gpu_resolve(env, list, resolved + before, sizeof resolved - before));
    return assay_options_set(env, options, key, resolved);
}

/* The words that are left. */
typedef struct words {
    int    at, n;
    char **text;
} words;

/* The value of an option: the rest of its own word, or the next word. */
static assay_status value_take(assay_env *env, words *w, const char *option, const char *joined, const char *called,
                               const char **out)
{
    if (!joined && w->at + 1 >= w->n)
        return as_fail(env, ASSAY_BAD_INPUT, "option %s needs a value (%s)", option, called ? called : "VALUE");
    *out = joined ? joined : w->text[++w->at];
    return ASSAY_OK;
}

/* Of the longest suffix of the list that the file ends with; 0: none. */
static size_t suffix_length(const char *list, const char *file)
{
    size_t      n, length = strlen(file), longest = 0;
    const char *word;
    while (list && (word = as_word_next(&list, &n)))
        if (n < length && n > longest && !strncmp(file + length - n, word, n))
            longest = n;
    return longest;
}

/* -o FILE: the option of the verb that writes files with this suffix; for `run`, its output. */
static assay_status output_set(as_cli *cli, assay_options *options, const as_verb *verb, const char *file)
{
    const char *best = NULL;
    size_t      longest = 0;
    for (const char *const *key = verb->options; key && *key; key++) {
        size_t n = suffix_length(as_verb_option(verb, *key).suffixes, file);
        if (n > longest)
            longest = n, best = *key;
    }
    if (best)
        return assay_options_set(cli->env, options, best, file);
    if (as_verb_takes(verb, "output"))
        return assay_options_set(cli->env, options, "output", file);
    return fail_suffix(cli->env, verb, file);
}

static const as_option_def *letter_find(const as_verb *verb, char letter)
{
    for (const as_option_def *def = as_option_table; def->key; def++)
        if (def->letter == letter && as_verb_takes(verb, def->key))
            return def;
    return NULL;
}

static assay_status fail_letter(assay_env *env, const as_verb *verb, char letter)
{
    for (const as_option_def *def = as_option_table; def->key; def++)
        if (def->letter == letter)
            return fail_option(env, verb, def->key);
    return as_fail(env, ASSAY_BAD_INPUT, "%s has no option -%c; see assay help %s", verb->name, letter, verb->name);
}

/* -b 8, -b8, -q; letters without a value may be combined: -qv. */
static assay_status letters_read(as_cli *cli, assay_options *options, const as_verb *verb, words *w, bool *help)
{
    for (const char *at = w->text[w->at] + 1; *at; at++) {
        const as_option_def *def = letter_find(verb, *at);
        char                 name[] = {'-', *at, '\0'};
        const char          *value = "", *joined = at[1] ? at + 1 : NULL;
        if (*at == 'h') {
            *help = true;
            return ASSAY_OK;
        }
        if (*at == 'o') {
            AS_TRY(value_take(cli->env, w, "-o", joined, "FILE", &value));
            return output_set(cli, options, verb, value);
        }
        if (!def)
            return fail_letter(cli->env, verb, *at);
        if (!def->stands && def->type != AS_OPT_FLAG) {
            AS_TRY(value_take(cli->env, w, name, joined, def->value, &value));
            return option_set(cli->env, options, def->key, value);
        }
        AS_TRY(assay_options_set(cli->env, options, def->key, def->stands ? def->stands : "on"));
    }
    return ASSAY_OK;
}

static const char *bare_of(const as_verb *verb, const char *key)
{
    for (const as_verb_text *t = verb->texts; t && t->key; t++)
        if (!strcmp(t->key, key))
            return t->bare;
    return NULL;
}

/* --key value or --key=value; a flag has no value. */
static assay_status long_read(as_cli *cli, assay_options *options, const as_verb *verb, words *w)
{
    const char *word = w->text[w->at], *equals = strchr(word, '=');
    char        key[64], name[72];
    size_t      length = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), word + 2);
    const as_option_def *def = as_option_find(key);
    if (!def || !as_verb_takes(verb, def->key))
        return fail_option(cli->env, verb, def ? def->key : key);
    const char *value = "on";
    snprintf(name, sizeof name, "--%s", key);
    const char *bare = bare_of(verb, def->key);
    bool        has_next = w->at + 1 < w->n && strncmp(w->text[w->at + 1], "--", 2);
    if (!equals && bare && !has_next)
        value = bare;
    else if (equals || def->type != AS_OPT_FLAG)
        AS_TRY(value_take(cli->env, w, name, equals ? equals + 1 : NULL, def->value, &value));
    return option_set(cli->env, options, def->key, value);
}

/* After --help, only options about the display of help count. */
static assay_status after_help(as_cli *cli, assay_options *options, const words *w)
{
    for (int i = w->at; i < w->n; i++)
        if (!strcmp(w->text[i], "--no-pager"))
            AS_TRY(assay_options_set(cli->env, options, "no-pager", "on"));
    return ASSAY_OK;
}

/* "--" ends the options; "-" alone is an argument. */
assay_status as_arguments_read(as_cli *cli, assay_options *options, const as_verb *verb, int argc, char **argv, bool *help)
{
    bool  only_args = false; /* behind "--", or behind a command */
    words w = {.at = 2, .n = argc, .text = argv};
    for (; w.at < argc && !*help; w.at++) {
        const char *word = argv[w.at];
        if (only_args || word[0] != '-' || !word[1]) {
            cli->args[cli->n_args++] = word;
            only_args |= verb->runs_command;
        } else if (!strcmp(word, "--"))
            only_args = true;
        else if (!strcmp(word, "--help"))
            *help = true;
        else if (word[1] == '-')
            AS_TRY(long_read(cli, options, verb, &w));
        else
            AS_TRY(letters_read(cli, options, verb, &w, help));
    }
    return *help ? after_help(cli, options, &w) : ASSAY_OK;
}

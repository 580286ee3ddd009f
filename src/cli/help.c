/* help.c - what `assay --help` and `assay VERB --help` print, in lines that fit the terminal. */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/screen.h"

enum { LEFT = 26, VERB = 13, MOST_ORDER = 20, MOST_WIDTH = 120 }; /* longer lines are hard to read, however wide the terminal is */

static int width(void)
{
    int columns = as_screen_columns();
    return columns > MOST_WIDTH ? MOST_WIDTH : columns;
}

/* Prints words from column `at` on; every further line begins at column `indent`.  Ends the line. */
static void wrap(FILE *file, const char *text, int at, int indent)
{
    bool first = true;
    for (const char *word = text; *word;) {
        int n = (int)strcspn(word, " \n");
        if (!first && at + 1 + n > width()) {
            fprintf(file, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        fprintf(file, "%s%.*s", first ? "" : " ", n, word);
        at += n + !first;
        first = false;
        word += n;
        word += strspn(word, " \n");
    }
    fputc('\n', file);
}

/* Lines that begin with a space are kept; the others are joined and wrapped. */
static void paragraphs(FILE *file, const char *text)
{
    as_text flow = {0};
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        bool   listed = *line == ' ';
        if (listed && flow.length) {
            wrap(file, flow.data, 0, 0);
            flow.length = 0;
        }
        if (listed)
            fprintf(file, "%.*s\n", (int)n, line);
        else {
            as_text_add(&flow, flow.length ? " " : "");
            as_text_add_n(&flow, line, n);
        }
        line += n + (line[n] == '\n');
    }
    if (flow.length)
        wrap(file, flow.data, 0, 0);
    as_text_drop(&flow);
}

/* --- All verbs ----------------------------------------------------------------------------------------- */

static void entry(FILE *file, const char *left, int column, const char *text)
{
    int n = as_text_columns(left);
    fputs(left, file);
    if (n + 1 > column) {
        fputc('\n', file);
        n = 0;
    }
    fprintf(file, "%*s", column - n, "");
    wrap(file, text, column, column);
}

static void verb_print(FILE *file, const as_verb *verb)
{
    char left[40];
    snprintf(left, sizeof left, "  %s", verb->name);
    entry(file, left, VERB, verb->summary);
}

void as_overview_print(FILE *file)
{
    static const char *const names[AS_N_VERB_GROUPS] = {[AS_VERBS_LOOK] = "Look at a network",
                                                        [AS_VERBS_COMPARE] = "Compare and guard",
                                                        [AS_VERBS_MACHINE] = "This machine",
                                                        [AS_VERBS_HOUSE] = "Housekeeping"};
    fprintf(file, "assay %s: how fast a neural network runs, where the time goes, and why\n\n", ASSAY_VERSION);
    fprintf(file, "Type first:  assay profile mlp-small      a built-in network\n"
                  "             assay profile FILE.onnx      your own\n");
    for (int g = 0; g < AS_N_VERB_GROUPS; g++) {
        fprintf(file, "\n%s\n", names[g]);
        for (int order = 0; order <= MOST_ORDER; order++)
            for (int i = 0; as_cmd_table[i]; i++)
                if ((int)as_cmd_table[i]->group == g && as_cmd_table[i]->order == order)
                    verb_print(file, as_cmd_table[i]);
    }
    fprintf(file, "\nusage: assay VERB [MODEL] [options]\n\n");
    wrap(file,
         "MODEL is a file (.onnx, .json) or a built-in network, with parameters if you like: mlp:sizes=784x128x10.  "
         "`assay list models` names them.",
         0, 0);
    wrap(file, "`assay help VERB` shows a verb's options and an example.", 0, 0);
}

/* --- One verb -------------------------------------------------------------------------------------------- */

static void option_print(FILE *file, const as_option_def *def)
{
    as_text left = {0}, text = {0};
    if (def->letter && !def->stands)
        as_text_printf(&left, "  -%c, ", def->letter);
    else
        as_text_add(&left, "      ");
    as_text_printf(&left, "--%s%s%s", def->key, def->value ? " " : "", def->value ? def->value : "");
    as_text_add(&text, def->help);
    if (def->standard)
        as_text_printf(&text, " [%s]", def->standard);
    as_text_add(&text, def->many ? " (may be repeated)" : "");
    entry(file, left.data ? left.data : "", LEFT, text.data ? text.data : "");
    as_text_drop(&left);
    as_text_drop(&text);
    if (def->letter && def->stands) {
        char letter[16];
        snprintf(letter, sizeof letter, "  -%c", def->letter);
        fprintf(file, "%-*sthe same as --%s %s\n", LEFT, letter, def->key, def->stands);
    }
}

static void group_print(FILE *file, const as_verb *verb, as_option_group group)
{
    static const char *const names[AS_N_GROUPS] = {
        [AS_GROUP_SUBJECT] = "What to run", [AS_GROUP_TRAIN] = "How it learns", [AS_GROUP_PLAN] = "How to run it",
        [AS_GROUP_MEASURE] = "Measuring",   [AS_GROUP_JUDGE] = "Judging",       [AS_GROUP_STORE] = "What to keep",
        [AS_GROUP_OUTPUT] = "Output"};
    bool any = false;
    for (const char *const *key = verb->options; key && *key; key++) {
        as_option_def def = as_verb_option(verb, *key);
        if (def.group != group)
            continue;
        if (!any)
            fprintf(file, "\n%s:\n", names[group]);
        any = true;
        option_print(file, &def);
    }
}

/* "-o FILE": the suffixes that this verb recognises. */
static void output_print(FILE *file, const as_verb *verb)
{
    as_text text = {0};
    for (const char *const *key = verb->options; key && *key; key++) {
        const char *list = as_verb_option(verb, *key).suffixes;
        size_t      n;
        const char *word = list ? as_word_next(&list, &n) : NULL;
        if (word)
            as_text_printf(&text, "%s%.*s is --%s", text.length ? ", " : "write FILE; its suffix says what: ", (int)n, word, *key);
    }
    if (text.length)
        entry(file, "  -o FILE", LEFT, text.data);
    as_text_drop(&text);
}

/* Names that other tools use for the same. */
static void aliases_print(FILE *file, const as_verb *verb)
{
    as_text text = {0};
    for (const char *const *key = verb->options; key && *key; key++) {
        const as_option_def *def = as_option_find(*key);
        const char          *list = def->aliases ? def->aliases : "", *word;
        size_t               n;
        while ((word = as_word_next(&list, &n)))
            as_text_printf(&text, "%s--%.*s (--%s)", text.length ? ", " : "Other names: ", (int)n, word, def->key);
    }
    if (text.length) {
        fputc('\n', file);
        wrap(file, text.data, 0, 2);
    }
    as_text_drop(&text);
}

void as_help_print(const as_verb *verb, FILE *file)
{
    as_text usage = {0};
    as_text_printf(&usage, "usage: assay %s%s%s", verb->name, *verb->usage ? " " : "", verb->usage);
    fprintf(file, "assay %s: ", verb->name);
    wrap(file, verb->summary, 8 + (int)strlen(verb->name), 2);
    fputc('\n', file);
    wrap(file, usage.data ? usage.data : "", 0, 7);
    fputc('\n', file);
    paragraphs(file, verb->details);
    for (int i = 0; i < AS_N_GROUPS; i++)
        group_print(file, verb, (as_option_group)i);
    fprintf(file, "\nEvery verb:\n");
    output_print(file, verb);
    for (int i = 0; as_common_options[i]; i++)
        option_print(file, as_option_find(as_common_options[i]));
    fprintf(file, "  -h, %-*sshow this\n", LEFT - 6, "--help");
    aliases_print(file, verb);
    fprintf(file, "\nexample:\n  %s\n", verb->example);
    as_text_drop(&usage);
}

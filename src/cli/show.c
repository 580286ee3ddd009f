/* show.c - facts to where they were asked for, and a line about the work. */
#include "cli/show.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const forms[] = {"json", "html", "csv", "markdown"}; /* keys of options, and names of writers */

bool as_cli_forms_asked(as_cli *cli, bool to_stdout)
{
    bool asked = false;
    for (size_t i = 0; i < AS_COUNT(forms); i++) { /* all are looked at: an option that nobody reads is an error */
        const char *path = as_options_text(cli->options, forms[i]);
        asked |= path && (!to_stdout || !strcmp(path, "-"));
    }
    return asked;
}

assay_status as_cli_forms_write(as_cli *cli, const assay_facts *const *facts, size_t n, const as_write_settings *settings)
{
    for (size_t i = 0; i < AS_COUNT(forms); i++) {
        const char *path = as_options_text(cli->options, forms[i]);
        if (path)
            AS_TRY(as_report_save(cli->env, facts, n, forms[i], settings, path));
    }
    return ASSAY_OK;
}

assay_status as_cli_show(as_cli *cli, const assay_facts *facts)
{
    const assay_facts *one[] = {facts};
    const char        *sections = as_options_is_set(cli->options, "sections") ? as_options_text(cli->options, "sections") : NULL;
    bool               brief = !sections && !as_facts_group_find(facts, "latency"); /* a profile is asked for its details */
    as_write_settings  settings = {.colour = as_cli_colour(cli, stdout), .sections = sections, .brief = brief};
    if (!as_cli_forms_asked(cli, true))
        AS_TRY(as_report_write(cli->env, one, 1, "text", &settings, stdout));
    return as_cli_forms_write(cli, one, 1, &settings);
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

assay_status as_cli_only(as_cli *cli, const char *what, const char *keys)
{
    for (const as_option_def *def = as_option_table; def->key; def++)
        if (as_options_is_set(cli->options, def->key) && !has_word(keys, def->key))
            return as_fail(cli->env, ASSAY_BAD_INPUT, "%s: --%s says nothing about it; these do: %s", what, def->key, keys);
    return ASSAY_OK;
}

static void draw(void *arg, const char *name, double done)
{
    (void)arg;
    static const char bar[] = "####################";
    int               n = (int)(done * 20);
    fprintf(stderr, "\r  %-40.40s [%-20.*s] %3.0f %%", name, n < 0 ? 0 : n > 20 ? 20 : n, bar, done * 100);
    fflush(stderr);
}

void as_cli_progress(as_cli *cli, as_lab_settings *settings)
{
    const char *term = getenv("TERM");
    bool        wanted = !strcmp(as_options_text(cli->options, "progress"), "auto");
    if (wanted && isatty(STDERR_FILENO) && term && strcmp(term, "dumb"))
        settings->progress = draw;
}

void as_cli_progress_end(const as_lab_settings *settings)
{
    if (settings->progress)
        fprintf(stderr, "\r%72s\r", "");
}

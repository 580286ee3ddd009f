/* wr_github.c - a check as workflow commands of GitHub: annotations at the pull request.
 *
 * A command is a line "::error title=...::message"; in it %, CR and LF are escaped, in the title also ':' and ','. */
#include <string.h>

#include "report/pick.h"

static void put(FILE *file, as_arena *arena, const char *text, bool is_property)
{
    for (const char *c = as_clean_text(arena, text); *c; c++) {
        if (*c == '%' || (is_property && (*c == ':' || *c == ',')))
            fprintf(file, "%%%02X", (unsigned char)*c);
        else
            fputc(*c, file);
    }
}

/* Keeps line breaks, which as_clean_text() would remove. */
static void put_lines(FILE *file, as_arena *arena, const char *text)
{
    while (*text) {
        size_t      n = strcspn(text, "\r\n");
        const char *line = as_arena_text_n(arena, text, n);
        put(file, arena, line ? line : "", false);
        text += n;
        for (; *text == '\r' || *text == '\n'; text++)
            fputs(*text == '\r' ? "%0D" : "%0A", file);
    }
}

static void command(FILE *file, as_arena *arena, const char *level, const char *about, const char *name, const char *message,
                    const char *detail)
{
    fprintf(file, "::%s title=", level);
    put(file, arena, about, true);
    if (*name) {
        put(file, arena, ": ", true);
        put(file, arena, name, true);
    }
    fputs("::", file);
    put_lines(file, arena, message);
    if (*detail) {
        fputs("%0A", file);
        put_lines(file, arena, detail);
    }
    fputc('\n', file);
    as_arena_drop(arena);
}

static void write_check(FILE *file, const assay_facts *f, const as_table *t)
{
    static const struct {
        const char *status, *level;
    } levels[] = {{"Regression", "error"}, {"Failed", "error"}, {"Unstable", "warning"}, {"Improvement", "notice"}};
    as_arena             arena = {0};
    const as_fact_group *g = as_facts_group_find(f, "check");
    for (size_t k = 0; k < AS_COUNT(levels); k++)
        for (int i = 0; i < t->n_rows; i++)
            if (!strcmp(as_words_at(t, i, "status"), levels[k].status))
                command(file, &arena, levels[k].level, levels[k].status, as_words_at(t, i, "case"), as_words_at(t, i, "line"),
                        as_words_at(t, i, "detail"));
    if (g->n_findings)
        command(file, &arena, "notice", f->title, "", g->findings[0].text, "");
}

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    (void)docs, (void)s;
    for (size_t i = 0; i < n; i++)
        if (!as_facts_table_find(facts[i], "check", "annotations"))
            return as_fail(env, ASSAY_BAD_INPUT, "github: \"%s\" is not a check: only assay check has cases to annotate",
                           facts[i]->title);
    for (size_t i = 0; i < n; i++)
        write_check(file, facts[i], as_facts_table_find(facts[i], "check", "annotations"));
    return ASSAY_OK;
}

const as_writer as_wr_github = {
    .name = "github", .suffix = ".txt", .help = "a check as annotations of a pull request", .write = write_doc};

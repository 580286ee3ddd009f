/* wr_markdown.c - the document for a pull request: the main numbers and the verdict first, the rest folded.
 *
 * Tables are GitHub's.  Names come from anywhere, so whatever Markdown or a forge would act upon is disarmed: markup and HTML are
 * escaped, a mention calls nobody, an issue number links nowhere, a bar or a line break stays inside its cell.  A chart whose
 * numbers are in a table is left out; any other is drawn in characters. */
#include <string.h>

#include "base/text.h"
#include "report/chart/draw.h"
#include "report/pick.h"

/* Up to this many sections are open; with more, all but the main ones are folded. */
enum { MAX_OPEN = 3 };
static const char *const answers[] = {"verdict", "bench", "compare", "check", "sweep", "history", "noise"};

typedef struct page {
    FILE    *file;
    as_arena arena; /* of one block */
    bool     folds; /* the document is long */
    bool     in_fold;
    bool     failed; /* memory ran out */
} page;

/* --- Words -------------------------------------------------------------------------------------------------- */

static const char *safe(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '@': return "@<!-- -->";   /* otherwise it notifies somebody */
    case '#': return "\\#<!-- -->"; /* otherwise it is a heading or an issue */
    default: return NULL;
    }
}

static void put(page *p, const char *text)
{
    const char *clean = as_clean_text(&p->arena, text);
    for (const char *c = clean; *c; c++) {
        bool begins_list = c == clean && strchr("-+=", *c) && c[1];
        bool begins_link = (*c == ':' && !strncmp(c, "://", 3)) || (*c == '.' && c - clean >= 3 && !strncmp(c - 3, "www", 3));
        if (safe(*c))
            fputs(safe(*c), p->file);
        else if (begins_link)
            fprintf(p->file, "%c<!-- -->", *c);
        else
            fprintf(p->file, begins_list || strchr("\\`*_{}[]|~$!", *c) ? "\\%c" : "%c", *c);
    }
}

static void put_number(page *p, const assay_metric *m) { put(p, as_show_signs(&p->arena, m->value, m->unit)); }

/* --- Blocks ------------------------------------------------------------------------------------------------- */

static void fold_close(page *p)
{
    fputs(p->in_fold ? "</details>\n\n" : "", p->file);
    p->in_fold = false;
}

static void write_title(page *p, const as_block *b)
{
    fputs("# ", p->file);
    put(p, b->text);
    fputs("\n\n", p->file);
}

static bool is_answer(const char *key)
{
    for (size_t i = 0; i < AS_COUNT(answers); i++)
        if (!strcmp(key, answers[i]))
            return true;
    return false;
}

static void write_heading(page *p, const as_block *b)
{
    fold_close(p);
    p->in_fold = p->folds && !is_answer(b->key);
    fputs(p->in_fold ? "<details>\n<summary><b>" : "## ", p->file);
    if (p->in_fold)
        fputs(as_escape_html(&p->arena, b->text), p->file); /* inside a tag's line it is HTML, not Markdown */
    else
        put(p, b->text);
    fputs(p->in_fold ? "</b></summary>\n\n" : "\n\n", p->file);
}

static void write_text(page *p, const as_block *b)
{
    put(p, b->text);
    fputs("\n\n", p->file);
}

static void write_facts(page *p, const as_block *b)
{
    fputs("| | value | interval | kind |\n|:--|--:|:--|:--|\n", p->file);
    for (int i = 0; i < b->n_facts; i++) {
        const assay_metric *m = &b->facts[i]->metric;
        fputs("| ", p->file);
        put(p, b->facts[i]->label);
        fputs(b->kind == AS_BLOCK_HERO ? " | **" : " | ", p->file);
        put_number(p, m);
        fputs(b->kind == AS_BLOCK_HERO ? "** | " : " | ", p->file);
        put(p, m->lo < m->hi ? as_show_interval_signs(&p->arena, m) : "");
        fprintf(p->file, " | %s", assay_kind_text(m->kind));
        if (!as_metric_has(m)) {
            fputs(": ", p->file);
            put(p, m->reason);
        }
        fputs(" |\n", p->file);
    }
    fputs("\n", p->file);
}

static void write_findings(page *p, const as_block *b)
{
    static const char *const marks[] = {
        [AS_LEVEL_NOTE] = "ℹ️", [AS_LEVEL_GOOD] = "✅", [AS_LEVEL_WARN] = "⚠️", [AS_LEVEL_BAD] = "❌"};
    for (int i = 0; i < b->n_findings; i++) {
        fprintf(p->file, "- %s ", marks[b->findings[i].level]);
        put(p, b->findings[i].text);
        fputs("\n", p->file);
    }
    fputs("\n", p->file);
}

static void write_sentences(page *p, const as_block *b)
{
    static const char *const marks[] = {
        [AS_LEVEL_NOTE] = "ℹ️", [AS_LEVEL_GOOD] = "✅", [AS_LEVEL_WARN] = "⚠️", [AS_LEVEL_BAD] = "❌"};
    for (int i = 0; i < b->n_sentences; i++) {
        fprintf(p->file, "- %s ", marks[b->sentences[i].level]);
        put(p, b->sentences[i].text);
        if (*b->sentences[i].cites && strcmp(b->sentences[i].cites, "-")) {
            fputs(" (", p->file);
            put(p, b->sentences[i].cites);
            fputs(")", p->file);
        }
        fputs("\n", p->file);
    }
    fputs("\n", p->file);
}

static void write_part(page *p, const as_block *b)
{
    fold_close(p);
    fputs("## ", p->file);
    put(p, b->text);
    fputs("\n\n", p->file);
}

static void write_pairs(page *p, const as_block *b)
{
    fputs("| | |\n|:--|:--|\n", p->file);
    for (int i = 0; i < b->n_pairs; i++) {
        fputs("| ", p->file);
        put(p, b->pairs[i]->key);
        fputs(" | ", p->file);
        put(p, b->pairs[i]->value);
        fputs(" |\n", p->file);
    }
    fputs("\n", p->file);
}

static bool has_numbers(const as_table *t, int column)
{
    for (int row = 0; row < t->n_rows; row++)
        if (!as_cell_at(t, row, column)->text)
            return true;
    return false;
}

static void write_table(page *p, const as_block *b)
{
    const as_table *t = b->table;
    if (b->text && *b->text) {
        fputs("**", p->file);
        put(p, b->text);
        fputs("**\n\n", p->file);
    }
    for (int c = 0; c < t->n_columns; c++) {
        fputs("| ", p->file);
        put(p, t->columns[c].label);
        fputs(" ", p->file);
    }
    fputs("|\n", p->file);
    for (int c = 0; c < t->n_columns; c++)
        fputs(has_numbers(t, c) ? "|--:" : "|:--", p->file);
    fputs("|\n", p->file);
    for (int row = 0; row < t->n_rows; row++) {
        for (int c = 0; c < t->n_columns; c++) {
            const as_cell *cell = as_cell_at(t, row, c);
            fputs("| ", p->file);
            if (cell->text)
                put(p, cell->text);
            else
                put_number(p, &cell->metric);
            fputs(" ", p->file);
        }
        fputs("|\n", p->file);
    }
    fputs("\n", p->file);
}

/* Draws the chart in characters where no table has its numbers.  Indented by four, not fenced, so that no name can end the
 * block. */
static void write_chart(page *p, const as_block *b)
{
    bool        drawn = !b->chart->table && !b->chart->extra;
    const char *line = drawn ? as_chart_text(&p->arena, b->chart, AS_DRAW_COLUMNS) : "";
    p->failed |= !line;
    if (!line || !*line)
        return;
    if (b->chart->caption)
        put(p, b->chart->caption);
    fputs("\n\n", p->file);
    for (; *line; line += strcspn(line, "\n") + 1)
        fprintf(p->file, "    %.*s\n", (int)strcspn(line, "\n"), line);
    fputs("\n", p->file);
}

/* --- The writer --------------------------------------------------------------------------------------------- */

static void write_tree(page *p, const as_block *b)
{
    const as_table *shown = as_tree_indent(&p->arena, b->table);
    p->failed |= !shown;
    if (shown)
        write_table(p, &(as_block){.kind = AS_BLOCK_TABLE, .text = b->text, .table = shown});
}

static void (*const writers[])(page *, const as_block *) = {
    [AS_BLOCK_TITLE] = write_title,       [AS_BLOCK_HEADING] = write_heading,     [AS_BLOCK_TEXT] = write_text,
    [AS_BLOCK_FACTS] = write_facts,       [AS_BLOCK_TABLE] = write_table,         [AS_BLOCK_CHART] = write_chart,
    [AS_BLOCK_FINDINGS] = write_findings, [AS_BLOCK_KEYVALUES] = write_pairs,     [AS_BLOCK_HERO] = write_facts,
    [AS_BLOCK_PART] = write_part,         [AS_BLOCK_SENTENCES] = write_sentences, [AS_BLOCK_TREE] = write_tree,
};

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    (void)facts, (void)s;
    page p = {.file = file};
    for (size_t i = 0; i < n; i++) {
        int n_headings = 0;
        for (int j = 0; j < docs[i]->n_blocks; j++)
            n_headings += docs[i]->blocks[j].kind == AS_BLOCK_HEADING;
        p.folds = n_headings > MAX_OPEN;
        for (int j = 0; j < docs[i]->n_blocks; j++) {
            writers[docs[i]->blocks[j].kind](&p, &docs[i]->blocks[j]);
            as_arena_drop(&p.arena);
        }
        fold_close(&p);
    }
    return p.failed ? as_fail(env, ASSAY_NO_MEMORY, "markdown: not enough memory for a chart") : ASSAY_OK;
}

const as_writer as_wr_markdown = {
    .name = "markdown", .suffix = ".md", .help = "for a pull request: the result first, the rest folded", .write = write_doc};

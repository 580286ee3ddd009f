/* wr_text.c - the document for a terminal: aligned, cut to its width, coloured only when asked. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/chart/draw.h"
#include "report/pick.h"

enum { MIN_WIDTH = 40, MIN_TEXT_COLUMN = 22, INDENT = 2 };

typedef struct page {
    FILE    *file;
    as_arena arena; /* of one block */
    int      width;
    bool     colour;
    bool     chosen; /* only some sections */
    bool     failed; /* memory ran out */
    int      before; /* kind of the block before, -1 at the top */
} page;

/* --- Small things ----------------------------------------------------------------------------------------- */

static const char *paint(const page *p, const char *code) { return p->colour ? code : ""; }

#define BOLD  "\x1b[1m"
#define DIM   "\x1b[2m"
#define HEAD  "\x1b[1;36m"
#define PLAIN "\x1b[0m"

static void spaces(const page *p, int n)
{
    for (; n > 0; n--)
        fputc(' ', p->file);
}

static void put_left(const page *p, const char *text, int columns)
{
    fputs(text, p->file);
    spaces(p, columns - as_text_columns(text));
}

static void put_right(const page *p, const char *text, int columns)
{
    spaces(p, columns - as_text_columns(text));
    fputs(text, p->file);
}

/* Wraps words at the width, from column `indent` on; the cursor is already at `at`.  A word too long for a line is cut into
 * pieces. */
static void put_wrapped(page *p, const char *text, int indent, int at)
{
    const char *word = as_clean_text(&p->arena, text);
    int         room = p->width - indent;
    while (*word) {
        size_t      bytes = strcspn(word, " ");
        const char *one = as_arena_text_n(&p->arena, word, bytes);
        int         columns = one ? as_text_columns(one) : 0;
        if (at > indent && at + 1 + columns > p->width) {
            fputc('\n', p->file);
            spaces(p, indent);
            at = indent;
        }
        if (at > indent) {
            fputc(' ', p->file);
            at++;
        }
        if (columns > room)
            one = as_text_cut(&p->arena, one, room);
        fputs(one ? one : "", p->file);
        at += columns;
        word += bytes;
        word += strspn(word, " ");
    }
    fputc('\n', p->file);
}

static const char *number_of(page *p, const assay_metric *m)
{
    char        buf[64];
    const char *text = as_arena_text(&p->arena, as_show(buf, sizeof buf, m->value, m->unit));
    return text ? as_clean_text(&p->arena, text) : "";
}

static const char *interval_of(page *p, const assay_metric *m)
{
    char buf[160];
    return as_clean_text(&p->arena, as_show_interval(buf, sizeof buf, m));
}

/* --- Blocks ----------------------------------------------------------------------------------------------- */

static void write_title(page *p, const as_block *b)
{
    const char *text = as_text_cut(&p->arena, as_clean_text(&p->arena, b->text), p->width);
    fprintf(p->file, "%s%s%s\n", paint(p, BOLD), text, paint(p, PLAIN));
    for (int i = as_text_columns(text); i > 0; i--)
        fputs("═", p->file);
    fputc('\n', p->file);
}

static void write_heading(page *p, const as_block *b)
{
    const char *text = as_text_cut(&p->arena, as_clean_text(&p->arena, b->text), p->width - 6);
    fprintf(p->file, "\n%s── %s ", paint(p, HEAD), text);
    for (int i = as_text_columns(text) + 4; i < p->width; i++)
        fputs("─", p->file);
    fprintf(p->file, "%s\n", paint(p, PLAIN));
}

static void write_text(page *p, const as_block *b)
{
    spaces(p, INDENT);
    put_wrapped(p, b->text, INDENT, INDENT);
}

static void write_facts(page *p, const as_block *b)
{
    int label_columns = 0, value_columns = 0, interval_columns = 0, most = p->width * 2 / 5;
    for (int i = 0; i < b->n_facts; i++) {
        const assay_metric *m = &b->facts[i]->metric;
        int label = as_text_columns(as_clean_text(&p->arena, b->facts[i]->label)), value = as_text_columns(number_of(p, m));
        int interval = as_metric_has(m) ? as_text_columns(interval_of(p, m)) : 0;
        label_columns = label > label_columns ? label : label_columns;
        value_columns = value > value_columns ? value : value_columns;
        interval_columns = interval > interval_columns ? interval : interval_columns;
    }
    label_columns = label_columns > most ? most : label_columns;
    if (p->before == AS_BLOCK_CHART || p->before == AS_BLOCK_TABLE || p->before == AS_BLOCK_FACTS || p->before == AS_BLOCK_FINDINGS)
        fputc('\n', p->file);
    for (int i = 0; i < b->n_facts; i++) {
        const assay_metric *m = &b->facts[i]->metric;
        int                 at = INDENT + label_columns + 2 + value_columns + 2;
        spaces(p, INDENT);
        put_left(p, as_text_cut(&p->arena, as_clean_text(&p->arena, b->facts[i]->label), label_columns), label_columns + 2);
        fputs(paint(p, as_metric_has(m) ? BOLD : DIM), p->file);
        put_right(p, number_of(p, m), value_columns);
        fprintf(p->file, "%s  %s", paint(p, PLAIN), paint(p, DIM));
        if (!as_metric_has(m)) {
            put_wrapped(p, m->reason, at, at);
        } else {
            const char *rest =
                m->n > 1 ? as_arena_printf(&p->arena, "%s, n %" PRIu64, assay_kind_text(m->kind), m->n) : assay_kind_text(m->kind);
            if (interval_columns && at + interval_columns + 2 < p->width) {
                put_left(p, interval_of(p, m), interval_columns + 2);
                at += interval_columns + 2;
            }
            fprintf(p->file, "%s\n", as_text_cut(&p->arena, rest ? rest : "", p->width - at > 1 ? p->width - at : 1));
        }
        fputs(paint(p, PLAIN), p->file);
    }
}

static void finding_put(page *p, as_level level, const char *text)
{
    static const struct {
        const char *mark, *colour;
    } levels[] = {[AS_LEVEL_NOTE] = {"·", DIM},
                  [AS_LEVEL_GOOD] = {"✓", "\x1b[32m"},
                  [AS_LEVEL_WARN] = {"!", "\x1b[1;33m"},
                  [AS_LEVEL_BAD] = {"✗", "\x1b[1;31m"}};
    spaces(p, INDENT);
    fprintf(p->file, "%s%s%s ", paint(p, levels[level].colour), levels[level].mark, paint(p, PLAIN));
    put_wrapped(p, text, INDENT + 2, INDENT + 2);
}

static void write_findings(page *p, const as_block *b)
{
    for (int i = 0; i < b->n_findings; i++)
        finding_put(p, b->findings[i].level, b->findings[i].text);
}

/* With the keys of what each sentence is made of. */
static void write_sentences(page *p, const as_block *b)
{
    for (int i = 0; i < b->n_sentences; i++) {
        const as_sentence *s = &b->sentences[i];
        const char *text = *s->cites && strcmp(s->cites, "-") ? as_arena_printf(&p->arena, "%s [%s]", s->text, s->cites) : s->text;
        finding_put(p, s->level, text ? text : s->text);
    }
}

static void write_part(page *p, const as_block *b)
{
    const char *text = as_text_cut(&p->arena, as_clean_text(&p->arena, b->text), p->width - 6);
    fprintf(p->file, "\n%s══ %s ", paint(p, HEAD), text);
    for (int i = as_text_columns(text) + 4; i < p->width; i++)
        fputs("═", p->file);
    fprintf(p->file, "%s\n", paint(p, PLAIN));
}

static void write_pairs(page *p, const as_block *b)
{
    int columns = 0, most = p->width * 2 / 5;
    for (int i = 0; i < b->n_pairs; i++) {
        int key = as_text_columns(as_clean_text(&p->arena, b->pairs[i]->key));
        columns = key > columns ? key : columns;
    }
    columns = columns > most ? most : columns;
    for (int i = 0; i < b->n_pairs; i++) {
        spaces(p, INDENT);
        put_left(p, as_text_cut(&p->arena, as_clean_text(&p->arena, b->pairs[i]->key), columns), columns + 2);
        put_wrapped(p, b->pairs[i]->value, INDENT + columns + 2, INDENT + columns + 2);
    }
}

/* A chart that repeats the table beside it is drawn only when its section was asked for by name. */
static void write_chart(page *p, const as_block *b)
{
    const as_chart *c = b->chart;
    const char     *line = c->extra && !p->chosen ? "" : as_chart_text(&p->arena, c, p->width - INDENT);
    p->failed |= !line;
    if (!line || !*line)
        return;
    if (c->caption)
        fprintf(p->file, "\n  %s%s%s\n", paint(p, DIM),
                as_text_cut(&p->arena, as_clean_text(&p->arena, c->caption), p->width - INDENT), paint(p, PLAIN));
    while (*line) {
        size_t      bytes = strcspn(line, "\n");
        const char *one = as_arena_text_n(&p->arena, line, bytes);
        spaces(p, INDENT);
        fprintf(p->file, "%s\n", as_text_cut(&p->arena, one ? one : "", p->width - INDENT));
        line += bytes + (line[bytes] == '\n');
    }
}

/* --- Tables ----------------------------------------------------------------------------------------------- */

typedef struct grid {
    const as_table *table;
    const char    **texts;
    int            *widths, *natural;
    bool           *is_number;
} grid; /* natural: the width of the texts */

static const char *cell_of(page *p, const as_cell *c)
{
    return c->text ? as_clean_text(&p->arena, c->text) : number_of(p, &c->metric);
}

static bool grid_make(page *p, const as_table *t, grid *g)
{
    size_t n = (size_t)t->n_rows * (size_t)t->n_columns;
    *g = (grid){.table = t,
                .texts = AS_TAKE(&p->arena, const char *, n),
                .widths = AS_TAKE(&p->arena, int, t->n_columns),
                .natural = AS_TAKE(&p->arena, int, t->n_columns),
                .is_number = AS_TAKE(&p->arena, bool, t->n_columns)};
    if (!g->texts || !g->widths || !g->natural || !g->is_number)
        return false;
    for (int c = 0; c < t->n_columns; c++)
        g->widths[c] = as_text_columns(as_clean_text(&p->arena, t->columns[c].label));
    for (size_t i = 0; i < n; i++) {
        int c = (int)(i % (size_t)t->n_columns);
        g->texts[i] = cell_of(p, &t->cells[i]);
        int columns = as_text_columns(g->texts[i]);
        g->widths[c] = columns > g->widths[c] ? columns : g->widths[c];
        g->is_number[c] |= !t->cells[i].text;
    }
    memcpy(g->natural, g->widths, (size_t)t->n_columns * sizeof *g->widths);
    return true;
}

/* Long texts shrink first: the widest text column shrinks until the table fits or all are short. */
static void grid_shrink(const page *p, grid *g)
{
    for (;;) {
        int sum = INDENT, widest = -1;
        for (int c = 0; c < g->table->n_columns; c++) {
            sum += g->widths[c] + 2;
            if (!g->is_number[c] && g->widths[c] > MIN_TEXT_COLUMN && (widest < 0 || g->widths[c] > g->widths[widest]))
                widest = c;
        }
        if (sum - 2 <= p->width)
            return;
        if (widest < 0) { /* the table will be split, each part beginning with the first column */
            if (!g->is_number[0] && g->widths[0] > p->width / 3)
                g->widths[0] = p->width / 3;
            return;
        }
        int over = sum - 2 - p->width, least = g->widths[widest] - over;
        g->widths[widest] = over > 8 ? g->widths[widest] - 1 : least > MIN_TEXT_COLUMN ? least : g->widths[widest] - 1;
    }
}

/* The first column and modules identify the row, so different names stay different when cut. */
static bool is_names(const grid *g, int column)
{
    return !g->is_number[column] && (!column || !strcmp(g->table->columns[column].key, "module"));
}

static void names_fit(page *p, const grid *g, int column)
{
    size_t       n = (size_t)g->table->n_rows;
    const char **names = AS_TAKE(&p->arena, const char *, n);
    for (size_t i = 0; names && i < n; i++)
        names[i] = g->texts[i * (size_t)g->table->n_columns + (size_t)column];
    if (!names || !as_names_fit(&p->arena, names, n, g->widths[column], names)) {
        p->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        g->texts[i * (size_t)g->table->n_columns + (size_t)column] = names[i];
}

static void write_cell(page *p, const grid *g, int column, bool is_last, const char *text)
{
    const char *cut = as_text_cut(&p->arena, text, g->widths[column]);
    spaces(p, 2);
    if (g->is_number[column])
        put_right(p, cut, g->widths[column]);
    else
        put_left(p, cut, is_last ? 0 : g->widths[column]);
}

/* A cell has no space for its reason, so the reasons follow below, each once. */
static void write_reasons(page *p, const as_table *t)
{
    const char *said[4];
    int         n_said = 0;
    for (int i = 0; i < t->n_rows && n_said < 4; i++)
        for (int c = 0; c < t->n_columns && n_said < 4; c++) {
            const as_cell *cell = as_cell_at(t, i, c);
            bool           is_new = !cell->text && cell->metric.reason;
            for (int k = 0; k < n_said && is_new; k++)
                is_new = strcmp(said[k], cell->metric.reason) != 0;
            if (!is_new)
                continue;
            said[n_said++] = cell->metric.reason;
            fprintf(p->file, "  %sn/a: ", paint(p, DIM));
            put_wrapped(p, cell->metric.reason, INDENT + 5, INDENT + 5);
            fputs(paint(p, PLAIN), p->file);
        }
}

/* Columns [from, to) after the first one, which is repeated so that rows can be told apart. */
static void write_columns(page *p, const grid *g, int from, int to)
{
    const as_table *t = g->table;
    for (int c = 0; c < to; c = c ? c + 1 : from)
        if (is_names(g, c))
            names_fit(p, g, c);
    for (int row = -1; row < t->n_rows; row++) {
        fputs(row < 0 ? paint(p, DIM) : "", p->file);
        for (int c = 0; c < to; c = c ? c + 1 : from)
            write_cell(p, g, c, (c ? c + 1 : from) >= to,
                       row < 0 ? as_clean_text(&p->arena, t->columns[c].label)
                               : g->texts[(size_t)row * (size_t)t->n_columns + (size_t)c]);
        fprintf(p->file, "%s\n", row < 0 ? paint(p, PLAIN) : "");
    }
}

static void write_table(page *p, const as_block *b)
{
    grid            g;
    const as_table *t = b->table;
    if (!grid_make(p, t, &g))
        return;
    grid_shrink(p, &g);
    if (b->text)
        fprintf(p->file, "\n  %s%s%s\n", paint(p, BOLD),
                as_text_cut(&p->arena, as_clean_text(&p->arena, b->text), p->width - INDENT), paint(p, PLAIN));
    int from = 1;
    do {
        int to = from, sum = g.widths[0] + 2;
        if (from < t->n_columns && sum + g.widths[from] + 2 > p->width)
            g.widths[from] = p->width - sum - 2;
        while (to < t->n_columns && (to == from || sum + g.widths[to] + 2 <= p->width))
            sum += g.widths[to++] + 2;
        for (int c = from; c < to; c++) { /* a column that shrank for the whole table may have space in its part */
            int more = g.natural[c] - g.widths[c];
            more = more > p->width - sum ? p->width - sum : more;
            if (!g.is_number[c] && more > 0)
                g.widths[c] += more, sum += more;
        }
        if (from > 1)
            fputc('\n', p->file);
        write_columns(p, &g, from, to > 1 ? to : 1);
        from = to;
    } while (from < t->n_columns);
    write_reasons(p, t);
}

/* Names are indented by their depth. */
static void write_tree(page *p, const as_block *b)
{
    const as_table *shown = as_tree_indent(&p->arena, b->table);
    p->failed |= !shown;
    if (shown)
        write_table(p, &(as_block){.kind = AS_BLOCK_TABLE, .text = b->text, .table = shown});
}

/* --- The writer ------------------------------------------------------------------------------------------- */

static void (*const writers[])(page *, const as_block *) = {
    [AS_BLOCK_TITLE] = write_title,       [AS_BLOCK_HEADING] = write_heading,     [AS_BLOCK_TEXT] = write_text,
    [AS_BLOCK_FACTS] = write_facts,       [AS_BLOCK_TABLE] = write_table,         [AS_BLOCK_CHART] = write_chart,
    [AS_BLOCK_FINDINGS] = write_findings, [AS_BLOCK_KEYVALUES] = write_pairs,     [AS_BLOCK_HERO] = write_facts,
    [AS_BLOCK_PART] = write_part,         [AS_BLOCK_SENTENCES] = write_sentences, [AS_BLOCK_TREE] = write_tree,
};

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    (void)facts;
    int  width = s->width ? s->width : 100;
    page p = {.file = file, .width = width < MIN_WIDTH ? MIN_WIDTH : width, .colour = s->colour, .chosen = s->sections != NULL};
    for (size_t i = 0; i < n; i++) {
        if (i)
            fputs("\n\n", file);
        p.before = -1;
        for (int j = 0; j < docs[i]->n_blocks; j++) {
            if (s->brief && docs[i]->blocks[j].detail)
                continue;
            writers[docs[i]->blocks[j].kind](&p, &docs[i]->blocks[j]);
            p.before = (int)docs[i]->blocks[j].kind;
            as_arena_drop(&p.arena);
        }
    }
    return p.failed ? as_fail(env, ASSAY_NO_MEMORY, "text: not enough memory for a chart or a table") : ASSAY_OK;
}

const as_writer as_wr_text = {.name = "text", .suffix = ".txt", .help = "for a terminal", .write = write_doc};

/* wr_html.c - the document as one self-contained page: no network, no script but sorting and the flame graph, every string escaped. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/chart/draw.h"
#include "report/pick.h"
#include "report/writer/html_style.h"

typedef struct page {
    FILE    *file;
    as_arena arena;       /* of one block */
    size_t   run, n_runs; /* which of how many */
    bool     in_section;
    bool     failed; /* memory ran out */
} page;

static const struct {
    const char *letter, *class;
} kinds[] = {
    [ASSAY_KIND_MISSING] = {"?", "ku"}, [ASSAY_MEASURED] = {"M", "km"},  [ASSAY_COUNTED] = {"C", "kc"},
    [ASSAY_DERIVED] = {"D", "kd"},      [ASSAY_MODELLED] = {"Mo", "ko"}, [ASSAY_UNAVAILABLE] = {"U", "ku"},
};
static const char *const levels[] = {
    [AS_LEVEL_NOTE] = "note", [AS_LEVEL_GOOD] = "good", [AS_LEVEL_WARN] = "warn", [AS_LEVEL_BAD] = "bad"};

/* --- Small things ----------------------------------------------------------------------------------------- */

static void put(page *p, const char *text) { fputs(as_escape_html(&p->arena, text), p->file); }

/* Section keys are constants of ours, but a page may come from any section: letters, digits and '-' only. */
static void put_id(page *p, const char *key)
{
    if (p->n_runs > 1)
        fprintf(p->file, "r%zu-", p->run + 1);
    for (; key && *key; key++) {
        bool is_plain = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z') || (*key >= '0' && *key <= '9');
        fputc(is_plain ? *key : '-', p->file);
    }
}

/* The birth certificate, shown when the pointer rests on a number. */
static void put_title(page *p, const assay_metric *m)
{
    fprintf(p->file, " title=\"%s", assay_kind_text(m->kind));
    if (m->source) {
        fputs("; source: ", p->file);
        put(p, m->source);
    }
    if (m->reason) {
        fputs("; reason: ", p->file);
        put(p, m->reason);
    }
    if (as_metric_has(m)) {
        char number[AS_NUMBER_BYTES];
        fprintf(p->file, "; n = %" PRIu64 "; exactly %s ", m->n, as_number(number, m->value));
        put(p, m->unit);
        if (m->lo < m->hi) {
            fputs("; interval ", p->file);
            put(p, as_show_interval_signs(&p->arena, m));
        } else {
            fputs(m->lo == m->hi ? "; exact" : "; no interval", p->file);
        }
    }
    fputc('"', p->file);
}

static void put_badge(page *p, assay_kind kind)
{
    fprintf(p->file, "<sup class=\"%s\">%s</sup>", kinds[kind].class, kinds[kind].letter);
}

/* The number, its unit a little smaller. */
static void put_number(page *p, const assay_metric *m)
{
    const char *text = as_show_signs(&p->arena, m->value, m->unit), *space = strchr(text, ' ');
    if (!space) {
        put(p, text);
        return;
    }
    const char *number = as_arena_text_n(&p->arena, text, (size_t)(space - text));
    put(p, number ? number : "");
    fputs("&#8239;<i>", p->file);
    put(p, space + 1);
    fputs("</i>", p->file);
}

static void put_interval(page *p, const assay_metric *m)
{
    if (!(m->lo < m->hi))
        return;
    fputs("<span class=\"i\">", p->file);
    put(p, as_show_interval_signs(&p->arena, m));
    fputs("</span>", p->file);
}

/* --- Blocks ----------------------------------------------------------------------------------------------- */

static void write_title(page *p, const as_block *b)
{
    fputs("<header><h1 id=\"", p->file);
    put_id(p, b->key);
    fputs("\">", p->file);
    put(p, b->text);
    fputs("</h1></header>\n", p->file);
}

static void write_heading(page *p, const as_block *b)
{
    if (p->in_section)
        fputs("</section>\n", p->file);
    p->in_section = true;
    fputs("<section id=\"", p->file);
    put_id(p, b->key);
    fputs("\" class=\"", p->file);
    put(p, b->key);
    fputs("\">\n<h2>", p->file);
    put(p, b->text);
    fputs("</h2>\n", p->file);
}

static void write_text(page *p, const as_block *b)
{
    fprintf(p->file, "<p%s>", p->in_section ? "" : " class=\"lead\"");
    put(p, b->text);
    fputs("</p>\n", p->file);
}

static void write_fact(page *p, const as_fact *f)
{
    const assay_metric *m = &f->metric;
    fputs("<div><span class=\"l\">", p->file);
    put(p, f->label);
    fprintf(p->file, "</span><span class=\"v%s\"", as_metric_has(m) ? "" : " na");
    put_title(p, m);
    fputc('>', p->file);
    put_number(p, m);
    put_badge(p, m->kind);
    fputs("</span>", p->file);
    if (as_metric_has(m)) {
        put_interval(p, m);
    } else {
        fputs("<span class=\"why\">", p->file);
        put(p, m->reason);
        fputs("</span>", p->file);
    }
    fputs("</div>\n", p->file);
}

static void write_facts(page *p, const as_block *b)
{
    fprintf(p->file, "<div class=\"%s\">\n", b->kind == AS_BLOCK_HERO ? "hero" : "facts");
    for (int i = 0; i < b->n_facts; i++)
        write_fact(p, b->facts[i]);
    fputs("</div>\n", p->file);
}

static void write_findings(page *p, const as_block *b)
{
    fputs("<ul class=\"find\">\n", p->file);
    for (int i = 0; i < b->n_findings; i++) {
        fprintf(p->file, "<li class=\"%s\">", levels[b->findings[i].level]);
        put(p, b->findings[i].text);
        fputs("</li>\n", p->file);
    }
    fputs("</ul>\n", p->file);
}

static void write_pairs(page *p, const as_block *b)
{
    fputs("<dl class=\"kv\">\n", p->file);
    for (int i = 0; i < b->n_pairs; i++) {
        fputs("<dt>", p->file);
        put(p, b->pairs[i]->key);
        fputs("</dt><dd>", p->file);
        put(p, b->pairs[i]->value);
        fputs("</dd>\n", p->file);
    }
    fputs("</dl>\n", p->file);
}

static void write_chart(page *p, const as_block *b)
{
    const char *svg = as_chart_svg(&p->arena, b->chart); /* its strings are escaped by svg.c */
    p->failed |= !svg;
    if (!svg || !*svg)
        return;
    fputs("<figure>", p->file);
    if (b->chart->caption) {
        fputs("<figcaption>", p->file);
        put(p, b->chart->caption);
        fputs("</figcaption>", p->file);
    }
    fputs(svg, p->file);
    fputs("</figure>\n", p->file);
}

/* --- Tables ----------------------------------------------------------------------------------------------- */

/* The kind of all numbers of the column, MISSING when they differ: then each shows its own, as what is unavailable always does. */
static assay_kind column_kind(const as_table *t, int column, bool *has_numbers)
{
    assay_kind kind = ASSAY_KIND_MISSING;
    *has_numbers = false;
    for (int row = 0; row < t->n_rows; row++) {
        const as_cell *c = as_cell_at(t, row, column);
        if (c->text)
            continue;
        *has_numbers = true;
        if (!as_metric_has(&c->metric))
            continue;
        if (kind != ASSAY_KIND_MISSING && c->metric.kind != kind)
            return ASSAY_KIND_MISSING;
        kind = c->metric.kind;
    }
    return kind;
}

static void write_number_cell(page *p, const assay_metric *m, bool badge)
{
    char number[AS_NUMBER_BYTES];
    bool is_share = !strcmp(m->unit, "ratio") && as_metric_has(m) && m->value >= 0 && m->value <= 1.5;
    fprintf(p->file, "<td class=\"n%s%s\" data-v=\"%s\"", is_share ? " p" : "", as_metric_has(m) ? "" : " na",
            as_metric_has(m) ? as_number(number, m->value) : "");
    if (is_share)
        fprintf(p->file, " style=\"--w:%d%%\"", (int)lround(fmin(m->value, 1) * 100));
    put_title(p, m);
    fputc('>', p->file);
    put_number(p, m);
    if (badge)
        put_badge(p, m->kind);
    fputs("</td>", p->file);
}

/* What begins with a number stays on one line; a sentence gets room enough not to become a tower. */
static const char *text_class(const char *text)
{
    bool is_number = *text == '[' || (*text >= '0' && *text <= '9');
    return is_number ? " class=\"w\"" : as_text_columns(text) > 28 ? " class=\"t\"" : "";
}

static void write_table(page *p, const as_block *b)
{
    const as_table *t = b->table;
    assay_kind     *column_kinds = AS_TAKE(&p->arena, assay_kind, t->n_columns);
    if (!column_kinds)
        return;
    if (b->text) {
        fputs("<h3>", p->file);
        put(p, b->text);
        fputs("</h3>\n", p->file);
    }
    fputs("<div class=\"scroll\"><table><thead><tr>", p->file);
    for (int c = 0; c < t->n_columns; c++) {
        bool has_numbers;
        column_kinds[c] = column_kind(t, c, &has_numbers);
        fprintf(p->file, "<th tabindex=\"0\"%s>", has_numbers ? " class=\"n\"" : "");
        put(p, t->columns[c].label);
        if (column_kinds[c] != ASSAY_KIND_MISSING)
            put_badge(p, column_kinds[c]);
        fputs("</th>", p->file);
    }
    fputs("</tr></thead>\n<tbody>\n", p->file);
    for (int row = 0; row < t->n_rows; row++) {
        fputs("<tr>", p->file);
        for (int c = 0; c < t->n_columns; c++) {
            const as_cell *cell = as_cell_at(t, row, c);
            if (!cell->text) {
                write_number_cell(p, &cell->metric, column_kinds[c] != cell->metric.kind);
                continue;
            }
            fprintf(p->file, "<td%s>", text_class(cell->text));
            put(p, cell->text);
            fputs("</td>", p->file);
        }
        fputs("</tr>\n", p->file);
    }
    fputs("</tbody></table></div>\n", p->file);
}

/* --- The page --------------------------------------------------------------------------------------------- */

static void (*const writers[])(page *, const as_block *) = {
    [AS_BLOCK_TITLE] = write_title,       [AS_BLOCK_HEADING] = write_heading, [AS_BLOCK_TEXT] = write_text,
    [AS_BLOCK_FACTS] = write_facts,       [AS_BLOCK_TABLE] = write_table,     [AS_BLOCK_CHART] = write_chart,
    [AS_BLOCK_FINDINGS] = write_findings, [AS_BLOCK_KEYVALUES] = write_pairs, [AS_BLOCK_HERO] = write_facts,
};

/* One run: its sections.  Several: the runs. */
static void write_nav(page *p, const as_doc *const *docs, size_t n)
{
    fputs("<nav><div><b>assay</b>", p->file);
    for (p->run = 0; p->run < n; p->run++)
        for (int i = 0; i < docs[p->run]->n_blocks; i++) {
            const as_block *b = &docs[p->run]->blocks[i];
            if (b->kind != (n > 1 ? AS_BLOCK_TITLE : AS_BLOCK_HEADING))
                continue;
            fputs("<a href=\"#", p->file);
            put_id(p, b->key);
            fputs("\">", p->file);
            put(p, b->text);
            fputs("</a>", p->file);
        }
    fputs("</div></nav>\n", p->file);
}

static void write_legend(page *p)
{
    fputs("<footer class=\"legend\">", p->file);
    for (assay_kind k = ASSAY_MEASURED; k <= ASSAY_UNAVAILABLE; k++) {
        fputs("<span>", p->file);
        put_badge(p, k);
        fprintf(p->file, "%s</span>", assay_kind_text(k));
    }
    fprintf(p->file,
            "<span>A number's unit, source, count and interval show when the pointer rests on it.</span> assay %s</footer>\n",
            ASSAY_VERSION);
}

static void write_run(page *p, const as_doc *d)
{
    p->in_section = false;
    fputs("<article>\n", p->file);
    for (int i = 0; i < d->n_blocks; i++) {
        writers[d->blocks[i].kind](p, &d->blocks[i]);
        as_arena_drop(&p->arena);
    }
    fputs(p->in_section ? "</section>\n</article>\n" : "</article>\n", p->file);
}

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    (void)s;
    page p = {.file = file, .n_runs = n};
    fputs(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
        file);
    put(&p, n == 1 ? facts[0]->title : "runs");
    fprintf(file, " · assay</title>\n<style>\n%s</style>\n</head>\n<body>\n", as_html_style);
    write_nav(&p, docs, n);
    for (p.run = 0; p.run < n; p.run++)
        write_run(&p, docs[p.run]);
    write_legend(&p);
    fprintf(file, "<script>\n%s</script>\n</body>\n</html>\n", as_html_script);
    as_arena_drop(&p.arena);
    return p.failed ? as_fail(env, ASSAY_NO_MEMORY, "html: not enough memory for a chart") : ASSAY_OK;
}

const as_writer as_wr_html = {.name = "html", .suffix = ".html", .help = "one self-contained page", .write = write_doc};

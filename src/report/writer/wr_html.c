/* wr_html.c - the document as one self-contained page: the first screen from the brief, everything else in closed sections, then
 * how to get the numbers in other formats. */
#include <string.h>

#include "base/text.h"
#include "report/writer/html.h"

/* --- Blocks ----------------------------------------------------------------------------------------------- */

static void write_text(as_page *p, const as_block *b)
{
    fputs("<p>", p->file);
    as_page_signs(p, b->text);
    fputs("</p>\n", p->file);
}

static void write_fact(as_page *p, const as_block *b, const as_fact *f)
{
    const assay_metric *m = &f->metric;
    fputs("<div", p->file);
    as_page_fact_id(p, b, f);
    fputs("><span class=\"l\">", p->file);
    as_page_put(p, f->label);
    fprintf(p->file, "</span><span class=\"v%s\"", as_metric_has(m) ? "" : " na");
    as_page_title(p, m);
    fputc('>', p->file);
    as_page_value(p, m);
    as_page_kind(p, m->kind);
    fputs("</span>", p->file);
    if (!as_metric_has(m)) {
        fputs("<span class=\"why\">", p->file);
        as_page_put(p, m->reason);
        fputs("</span>", p->file);
    } else if (m->lo < m->hi) {
        fputs("<span class=\"i\">", p->file);
        as_page_put(p, as_show_interval_signs(&p->arena, m));
        fputs("</span>", p->file);
    }
    as_page_origin(p, m);
    fputs("</div>\n", p->file);
}

static void write_facts(as_page *p, const as_block *b)
{
    fprintf(p->file, "<div class=\"%s\">\n", b->kind == AS_BLOCK_HERO ? "hero" : "facts");
    for (int i = 0; i < b->n_facts; i++)
        write_fact(p, b, b->facts[i]);
    fputs("</div>\n", p->file);
}

static void write_findings(as_page *p, const as_block *b)
{
    fputs("<ul class=\"find\">\n", p->file);
    for (int i = 0; i < b->n_findings; i++) {
        fprintf(p->file, "<li class=\"%s\">", as_level_text(b->findings[i].level));
        as_page_signs(p, b->findings[i].text);
        fputs("</li>\n", p->file);
    }
    fputs("</ul>\n", p->file);
}

static void write_sentences(as_page *p, const as_block *b)
{
    fputs("<ul class=\"find\">\n", p->file);
    for (int i = 0; i < b->n_sentences; i++) {
        fprintf(p->file, "<li class=\"%s\">", as_level_text(b->sentences[i].level));
        as_page_signs(p, b->sentences[i].text);
        fputs(" <span class=\"cites\">", p->file);
        as_page_cites(p, b->sentences[i].cites);
        fputs("</span></li>\n", p->file);
    }
    fputs("</ul>\n", p->file);
}

static void write_pairs(as_page *p, const as_block *b)
{
    fputs("<dl class=\"kv\">\n", p->file);
    for (int i = 0; i < b->n_pairs; i++) {
        fputs("<dt>", p->file);
        as_page_put(p, b->pairs[i]->key);
        fputs("</dt><dd>", p->file);
        as_page_put(p, b->pairs[i]->value);
        fputs("</dd>\n", p->file);
    }
    fputs("</dl>\n", p->file);
}

/* A chart scrolls in its own box; the keyboard reaches a box that can scroll. */
static void write_chart(as_page *p, const as_block *b)
{
    const char *svg = as_chart_svg(&p->arena, b->chart); /* its strings are escaped by svg.c */
    p->failed |= !svg;
    if (!svg || !*svg)
        return;
    fputs("<figure>", p->file);
    if (b->chart->caption) {
        fputs("<figcaption>", p->file);
        as_page_put(p, b->chart->caption);
        fputs("</figcaption>", p->file);
    }
    fprintf(p->file, "<div class=\"box\">%s</div></figure>\n", svg);
}

static void write_table(as_page *p, const as_block *b) { as_page_table(p, b->table, b->of, b->text); }

static void (*const writers[])(as_page *, const as_block *) = {
    [AS_BLOCK_TEXT] = write_text,   [AS_BLOCK_FACTS] = write_facts,         [AS_BLOCK_TABLE] = write_table,
    [AS_BLOCK_CHART] = write_chart, [AS_BLOCK_FINDINGS] = write_findings,   [AS_BLOCK_KEYVALUES] = write_pairs,
    [AS_BLOCK_HERO] = write_facts,  [AS_BLOCK_SENTENCES] = write_sentences, [AS_BLOCK_TREE] = as_page_tree,
};

static void block_write(as_page *p, const as_block *b)
{
    p->block = b;
    if ((unsigned)b->kind < AS_COUNT(writers) && writers[b->kind])
        writers[b->kind](p, b);
    as_arena_drop(&p->arena);
}

/* --- Sections --------------------------------------------------------------------------------------------- */

/* The block of the next heading or part, or the end. */
static int section_end(const as_doc *d, int from)
{
    while (from < d->n_blocks && d->blocks[from].kind != AS_BLOCK_HEADING && d->blocks[from].kind != AS_BLOCK_PART)
        from++;
    return from;
}

/* What a closed section shows: its most severe finding. */
static const as_finding *gravest(const as_doc *d, int from, int end)
{
    const as_finding *best = NULL;
    for (int i = from; i < end; i++)
        for (int k = 0; d->blocks[i].kind == AS_BLOCK_FINDINGS && k < d->blocks[i].n_findings; k++)
            if (!best || d->blocks[i].findings[k].level > best->level)
                best = &d->blocks[i].findings[k];
    return best;
}

static void section_open(as_page *p, const char *key, const char *title, const as_finding *peek, bool is_open)
{
    fputs("<details class=\"sec\" id=\"", p->file);
    as_page_id(p, key);
    fprintf(p->file, "\"%s><summary><h2>", is_open ? " open" : "");
    as_page_put(p, title);
    fputs("</h2>", p->file);
    if (peek) {
        fprintf(p->file, "<span class=\"peek %s\">", as_level_text(peek->level));
        as_page_signs(p, peek->text);
        fputs("</span>", p->file);
    }
    fputs("</summary><div class=\"in\">\n", p->file);
}

static void section_close(as_page *p) { fputs("</div></details>\n", p->file); }

static void section_write(as_page *p, const as_doc *d, int at, bool is_open)
{
    int end = section_end(d, at + 1);
    section_open(p, d->blocks[at].key, d->blocks[at].text, gravest(d, at + 1, end), is_open);
    for (int i = at + 1; i < end; i++)
        block_write(p, &d->blocks[i]);
    section_close(p);
}

/* How to get the numbers in other formats.  The facts do not name the verb, so these are options for the command that was given. */
static void exports_write(as_page *p)
{
    static const struct {
        const char *option, *what;
    } forms[] = {
        {"--json run.json", "every number with its source, for programs; assay report reads it again"},
        {"--csv numbers.csv", "one row per number, for a spreadsheet"},
        {"--markdown report.md", "for a pull request"},
        {"--html report.html", "this page"},
    };
    section_open(p, "exports", "Exports", NULL, false);
    fputs("<p>Add one of these to the command that made this page:</p>\n<dl class=\"kv\">\n", p->file);
    for (size_t i = 0; i < AS_COUNT(forms); i++)
        fprintf(p->file, "<dt><code>%s</code></dt><dd>%s</dd>\n", forms[i].option, forms[i].what);
    fputs("</dl>\n<p>From a run that was kept as JSON, without measuring again:</p>\n", p->file);
    static const char *const commands[] = {"assay report run.json --csv numbers.csv", "assay report run.json --report detailed"};
    for (size_t i = 0; i < AS_COUNT(commands); i++)
        fprintf(p->file, "<div class=\"cmd\"><code>%s</code><button type=\"button\" class=\"copy\">Copy</button></div>\n",
                commands[i]);
    section_close(p);
}

static void toc_entry(as_page *p, const char *key, const char *text)
{
    fputs("<li><a href=\"#", p->file);
    as_page_id(p, key);
    fputs("\">", p->file);
    as_page_put(p, text);
    fputs("</a></li>\n", p->file);
}

static void toc_part(as_page *p, const char *text)
{
    fputs("<li class=\"part\">", p->file);
    as_page_put(p, text);
    fputs("</li>\n", p->file);
}

static void part_write(as_page *p, const as_block *b)
{
    fputs("<h2 class=\"part\" id=\"", p->file);
    as_page_id(p, b->key);
    fputs("\">", p->file);
    as_page_put(p, b->text);
    fputs("</h2>\n", p->file);
}

static void toc_write(as_page *p, const as_doc *d, bool has_rest)
{
    fputs("<nav class=\"toc\" aria-label=\"Contents\"><h2>Contents</h2><ul>\n", p->file);
    if (has_rest)
        toc_entry(p, "numbers", "Key numbers");
    for (int i = 0; i < d->n_blocks; i++)
        if (d->blocks[i].kind == AS_BLOCK_HEADING)
            toc_entry(p, d->blocks[i].key, d->blocks[i].text);
        else if (d->blocks[i].kind == AS_BLOCK_PART)
            toc_part(p, d->blocks[i].text);
    toc_entry(p, "exports", "Exports");
    fputs("</ul><div class=\"acts\"><button type=\"button\" data-all=\"open\">Open all</button>"
          "<button type=\"button\" data-all=\"close\">Close all</button></div></nav>\n",
          p->file);
}

/* --- One run ------------------------------------------------------------------------------------------------ */

/* Without a brief the page begins with the title and what comes before the first section. */
static void head_write(as_page *p, const as_doc *d, const char *title, const char *when)
{
    fputs("<header class=\"top\"><div><h1 id=\"", p->file);
    as_page_id(p, "top");
    fputs("\">", p->file);
    as_page_put(p, title);
    fputs("</h1>", p->file);
    if (when) {
        fputs("<p class=\"set\">", p->file);
        as_page_put(p, when);
        fputs("</p>", p->file);
    }
    fputs("</div></header>\n<p class=\"say\"></p>\n", p->file);
    for (int i = 0; i < section_end(d, 0); i++)
        if (d->blocks[i].kind != AS_BLOCK_TEXT || !when)
            block_write(p, &d->blocks[i]);
}

static bool brief_is_wanted(const char *sections) { return !sections || strstr(sections, "summary"); }

static const char *when_of(const assay_facts *f)
{
    const char *started = as_facts_note_find(f, "trace.started");
    return started && *started ? started : NULL;
}

static bool has_heading(const as_doc *d, const char *key)
{
    for (int i = 0; i < d->n_blocks; i++)
        if (d->blocks[i].kind == AS_BLOCK_HEADING && !strcmp(d->blocks[i].key, key))
            return true;
    return false;
}

static void run_write(as_page *p, const as_doc *d, const assay_facts *f, const as_write_settings *s)
{
    as_brief b = {0};
    bool     has_brief = brief_is_wanted(s->sections) && as_brief_make(&b, f);
    int  first = section_end(d, 0), n_open = has_brief ? 0 : s->sections ? d->n_blocks : 1; /* what was asked for by name is open */
    bool has_rest = has_brief && first > 1;
    p->doc = d, p->facts = f;
    p->failed |= b.failed;
    fputs("<article>\n", p->file);
    if (has_brief)
        as_page_brief(p, &b, when_of(f), has_heading(d, "layers") ? "layers" : NULL);
    else
        head_write(p, d, *f->title ? f->title : "a run", when_of(f));
    fputs("<div class=\"rest\">\n", p->file);
    toc_write(p, d, has_rest);
    fputs("<div class=\"secs\">\n", p->file);
    if (has_rest) {
        section_open(p, "numbers", "Key numbers", gravest(d, 0, first), false);
        for (int i = 0; i < first; i++)
            block_write(p, &d->blocks[i]);
        section_close(p);
    }
    for (int i = first, n = 0; i < d->n_blocks; i = section_end(d, i + 1))
        if (d->blocks[i].kind == AS_BLOCK_PART)
            part_write(p, &d->blocks[i]);
        else
            section_write(p, d, i, n++ < n_open);
    exports_write(p);
    fputs("</div></div>\n</article>\n", p->file);
    as_arena_drop(&b.arena);
    as_arena_drop(&p->arena);
}

/* --- The page --------------------------------------------------------------------------------------------- */

static void bar_write(as_page *p, const assay_facts *const *facts, size_t n)
{
    fputs("<div class=\"bar\"><div><b>assay</b>", p->file);
    if (n > 1) {
        fputs("<nav class=\"runs\" aria-label=\"Runs\">", p->file);
        for (p->run = 0; p->run < n; p->run++) {
            const char *name = as_facts_note_find(facts[p->run], AS_NOTE_NAME);
            fputs("<a href=\"#", p->file);
            as_page_id(p, "top");
            fputs("\">", p->file);
            as_page_put(p, name && *name ? name : *facts[p->run]->title ? facts[p->run]->title : "a run");
            fputs("</a>", p->file);
        }
        fputs("</nav>", p->file);
    }
    fputs(
        "<span class=\"acts\"><button type=\"button\" data-do=\"origin\" aria-label=\"Show where each number comes from\"><span class=\"wide\">Show where each number comes from</span><span class=\"narrow\">Sources</span></button>"
        "<button type=\"button\" data-do=\"theme\">Dark</button></span></div></div>\n",
        p->file);
}

static void legend_write(as_page *p)
{
    fputs("<footer class=\"legend\">", p->file);
    for (assay_kind k = ASSAY_MEASURED; k <= ASSAY_UNAVAILABLE; k++) {
        fputs("<span class=\"k\">", p->file);
        as_page_kind(p, k);
        fprintf(p->file, "%s</span>", assay_kind_text(k));
    }
    fprintf(p->file,
            "<span>Rest the pointer on a number to see its source, count and interval.</span><span>assay %s</span></footer>\n",
            ASSAY_VERSION);
}

/* The style of the page, and one class per width in percent. */
static const char *style_make(as_arena *arena)
{
    as_text t = {0};
    as_text_add(&t, as_page_style);
    for (int i = 0; i <= 100; i++)
        as_text_printf(&t, ".w%d{--w:%d%%}", i, i);
    as_text_add(&t, "\n");
    return as_text_keep(arena, &t);
}

static bool head_open(as_page *p, const char *title)
{
    const char *style = style_make(&p->arena), *style_hash = style ? as_page_hash(&p->arena, style) : NULL,
               *script_hash = as_page_hash(&p->arena, as_page_script);
    if (!style_hash || !script_hash)
        return false;
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          p->file);
    fprintf(p->file,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s'; script-src '%s'; "
            "base-uri 'none'; form-action 'none'\">\n<title>",
            style_hash, script_hash);
    as_page_put(p, title);
    fprintf(p->file, " · assay</title>\n<style>%s</style>\n</head>\n<body>\n", style);
    as_arena_drop(&p->arena);
    return true;
}

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    as_page p = {.file = file, .n_runs = n};
    if (head_open(&p, n == 1 ? facts[0]->title : "runs")) {
        bar_write(&p, facts, n);
        fputs("<main>\n", file);
        for (p.run = 0; p.run < n; p.run++)
            run_write(&p, docs[p.run], facts[p.run], s);
        fputs("</main>\n", file);
        legend_write(&p);
        fprintf(file, "<script>%s</script>\n</body>\n</html>\n", as_page_script);
    } else {
        p.failed = true;
    }
    as_arena_drop(&p.arena);
    return p.failed ? as_fail(env, ASSAY_NO_MEMORY, "html: not enough memory for the page") : ASSAY_OK;
}

const as_writer as_wr_html = {.name = "html", .suffix = ".html", .help = "one self-contained page", .write = write_doc};

/* html_cite.c - links from a sentence to the facts and rows that it is made of, and trees of calls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/writer/html.h"

/* --- Facts ----------------------------------------------------------------------------------------------------- */

/* The first block of the document that shows the fact, in the order of the page; NULL: none does. */
static const as_block *block_of(const as_doc *d, const as_fact *f)
{
    for (int i = 0; d && i < d->n_blocks; i++)
        for (int k = 0; k < d->blocks[i].n_facts; k++)
            if (d->blocks[i].facts[k] == f)
                return &d->blocks[i];
    return NULL;
}

void as_page_fact_id(as_page *p, const as_block *b, const as_fact *f)
{
    if (!p->doc || block_of(p->doc, f) != b)
        return;
    fputs(" id=\"", p->file);
    as_page_id(p, as_arena_printf(&p->arena, "f-%s", f->key));
    fputc('"', p->file);
}

static const as_fact *fact_find(const assay_facts *f, const char *key, size_t n)
{
    for (int i = 0; i < f->n_groups; i++)
        for (int j = 0; j < f->groups[i].n_facts; j++)
            if (strlen(f->groups[i].facts[j].key) == n && !strncmp(f->groups[i].facts[j].key, key, n))
                return &f->groups[i].facts[j];
    return NULL;
}

/* --- Rows of tables ----------------------------------------------------------------------------------------------- */

/* The first block that shows the table row by row; NULL: none does. */
static const as_block *table_block(const as_doc *d, const as_table *t)
{
    for (int i = 0; d && i < d->n_blocks; i++) {
        const as_block *b = &d->blocks[i];
        if (b->kind == AS_BLOCK_TABLE && (b->table == t || (b->of == t && b->table->n_rows == t->n_rows)))
            return b;
    }
    return NULL;
}

const char *as_page_table_key(as_page *p, const as_table *shown, const as_table *of)
{
    const as_table *t = of ? of : shown;
    if (t->n_rows != shown->n_rows)
        return NULL; /* folded: its rows are sums */
    if (p->doc && table_block(p->doc, t) != p->block)
        return NULL; /* each id is there once: where the table is shown first */
    for (int i = 0; p->facts && i < p->facts->n_groups; i++)
        for (int k = 0; k < p->facts->groups[i].n_tables; k++)
            if (&p->facts->groups[i].tables[k] == t)
                return as_arena_printf(&p->arena, "%s-%s", p->facts->groups[i].key, t->key);
    return NULL;
}

/* "layers.steps#3": the group up to the first point, the table's key up to the sign. */
static bool row_is_shown(as_page *p, const char *cite, size_t n, const char **id, const char **text)
{
    as_arena   *arena = &p->arena;
    const char *sign = memchr(cite, '#', n), *dot = memchr(cite, '.', n);
    if (!sign || !dot || dot > sign || !p->facts)
        return false;
    const char *group = as_arena_text_n(arena, cite, (size_t)(dot - cite)),
               *key = as_arena_text_n(arena, dot + 1, (size_t)(sign - dot - 1));
    const as_table *t = group && key ? as_facts_table_find(p->facts, group, key) : NULL;
    long            row = strtol(sign + 1, NULL, 10);
    if (!t || row < 0 || row >= t->n_rows || row >= AS_CITED_ROWS || !table_block(p->doc, t))
        return false;
    const char *name = as_cell_words(as_cell_at(t, (int)row, 0)), *said = as_words_at(t, (int)row, "text");
    *id = as_arena_printf(arena, "t-%s-%s-%ld", group, key, row);
    *text =
        as_arena_printf(arena, "%s: %s", as_facts_group_find(p->facts, group)->label, as_text_cut(arena, *said ? said : name, 40));
    return *id && *text;
}

/* A fact is named by its label, a row by its table's group and its own first words. */
static void cite_write(as_page *p, const char *cite, size_t n)
{
    const char    *id = NULL, *text = as_arena_text_n(&p->arena, cite, n);
    const as_fact *f = p->facts ? fact_find(p->facts, cite, n) : NULL;
    if (f && block_of(p->doc, f))
        id = as_arena_printf(&p->arena, "f-%s", f->key), text = as_text_cut(&p->arena, f->label, 48);
    else
        row_is_shown(p, cite, n, &id, &text);
    if (id) {
        fputs("<a href=\"#", p->file);
        as_page_id(p, id);
        fputs("\">", p->file);
    }
    as_page_put(p, text ? text : "");
    fputs(id ? "</a>" : "", p->file);
}

void as_page_cites(as_page *p, const char *cites)
{
    if (!strcmp(cites, "-"))
        return;
    for (bool first = true; *cites;) {
        size_t n = strcspn(cites, " ");
        if (n) {
            fputs(first ? "" : " ", p->file);
            cite_write(p, cites, n);
            first = false;
        }
        cites += n + (cites[n] == ' ');
    }
}

/* --- Trees ---------------------------------------------------------------------------------------------------------- */

#define OPEN_SHARE 0.05 /* what takes more of the whole stands open */
enum { MAX_DEPTH = 400 };

static void node_write(as_page *p, const as_table *t, int row, int column_of_place)
{
    static const char *const keys[] = {"total", "self", "count"};
    double                   share = as_value_at(t, row, "share");
    fprintf(p->file, "<span class=\"nm\">");
    as_page_put(p, as_words_at(t, row, "name"));
    const char *place = as_cell_words(as_cell_at(t, row, column_of_place));
    if (*place && strcmp(place, "-")) {
        fputs(" <small>", p->file);
        as_page_put(p, place);
        fputs("</small>", p->file);
    }
    fprintf(p->file, "</span><span class=\"p w%d\">%.1f&#8239;<i>%%</i></span>", as_page_width(share), 100 * share);
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        const assay_metric *m = as_metric_at(t, row, keys[i]);
        fprintf(p->file, "<span class=\"n\"");
        if (m)
            as_page_title(p, m);
        fputc('>', p->file);
        if (m)
            as_page_value(p, m);
        fputs("</span>", p->file);
    }
}

static int depth_at(const as_table *t, int row)
{
    double d = row < t->n_rows ? as_value_at(t, row, "depth") : 0;
    return d > 0 ? (int)fmin(d, MAX_DEPTH) : 0;
}

void as_page_tree(as_page *p, const as_block *b)
{
    const as_table *t = b->table;
    int             place = as_column_find(t, "place"), count = as_column_find(t, "count");
    int             open[MAX_DEPTH + 2], n_open = 0; /* depths of the boxes that are open */
    fputs("<div class=\"tree\">", p->file);
    if (b->text) {
        fputs("<h3>", p->file);
        as_page_put(p, b->text);
        fputs("</h3>", p->file);
    }
    fputs("<div class=\"head\"><span class=\"nm\">call</span><span>share</span><span>total</span><span>self</span><span>", p->file);
    as_page_put(p, count >= 0 ? t->columns[count].label : "");
    fputs("</span></div>\n", p->file);
    for (int i = 0; i < t->n_rows; i++) {
        int  depth = depth_at(t, i);
        bool holds = i + 1 < t->n_rows && depth_at(t, i + 1) > depth && n_open <= MAX_DEPTH;
        for (; n_open && open[n_open - 1] >= depth; n_open--)
            fputs("</div></details>\n", p->file);
        if (holds)
            fprintf(p->file, "<details%s><summary>", as_value_at(t, i, "share") >= OPEN_SHARE ? " open" : "");
        else
            fputs("<div class=\"leaf\">", p->file);
        node_write(p, t, i, place);
        fputs(holds ? "</summary><div class=\"kids\">\n" : "</div>\n", p->file);
        if (holds)
            open[n_open++] = depth;
    }
    while (n_open--)
        fputs("</div></details>\n", p->file);
    fputs("</div>\n", p->file);
}

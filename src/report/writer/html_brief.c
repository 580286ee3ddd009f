/* html_brief.c - the first screen of the page: what the brief says, as tiles, bars, commands to copy, and a badge for trust. */
#include <math.h>
#include <string.h>

#include "report/writer/html.h"

static const char *row_class(as_chart_role role)
{
    static const char *const classes[] = {
        [AS_CHART_MUTED] = "muted", [AS_CHART_GOOD] = "good", [AS_CHART_WARN] = "warn", [AS_CHART_BAD] = "bad"};
    return (unsigned)role < AS_COUNT(classes) ? classes[role] : NULL;
}

static void trust_write(as_page *p, const as_brief *b)
{
    if (!b->trust)
        return;
    fprintf(p->file, "<details class=\"trust %s\"><summary title=\"what this judgement stands on\">",
            as_level_text(as_brief_trust_level(b)));
    as_page_put(p, b->trust);
    fputs("</summary><ul>", p->file);
    for (int i = 0; i < b->n_checks; i++) {
        fprintf(p->file, "<li class=\"%s\">", as_level_text(b->checks[i].level));
        as_page_signs(p, b->checks[i].text);
        fputs("</li>", p->file);
    }
    fputs("</ul></details>\n", p->file);
}

static void top_write(as_page *p, const as_brief *b, const char *when)
{
    fputs("<header class=\"top\"><div><h1 id=\"", p->file);
    as_page_id(p, "top");
    fputs("\">", p->file);
    as_page_put(p, b->title);
    fputs("</h1>", p->file);
    if (*b->settings || when) {
        fputs("<p class=\"set\">", p->file);
        as_page_put(p, b->settings);
        fputs(*b->settings && when ? " · " : "", p->file);
        as_page_put(p, when ? when : "");
        fputs("</p>", p->file);
    }
    fputs("</div>\n", p->file);
    trust_write(p, b);
    fputs("</header>\n", p->file);
    const char *say = b->headline ? b->headline : b->summary;
    if (say) {
        fprintf(p->file, "<p class=\"say %s\">", b->headline ? as_level_text(b->level) : "");
        as_page_signs(p, say);
        fputs("</p>\n", p->file);
    }
}

/* --- Tiles -------------------------------------------------------------------------------------------------- */

/* Three spaces separate the asides of a line. */
static void aside_write(as_page *p, const char *aside)
{
    fputs("<p class=\"aside\">", p->file);
    while (*aside) {
        const char *end = strstr(aside, "   "),
                   *one = as_arena_text_n(&p->arena, aside, end ? (size_t)(end - aside) : strlen(aside));
        fputs("<span>", p->file);
        as_page_signs(p, one ? one : "");
        fputs("</span>", p->file);
        for (aside = end ? end : ""; *aside == ' ';)
            aside++;
    }
    fputs("</p>", p->file);
}

static void tile_write(as_page *p, const as_brief_number *n)
{
    char buf[64];
    bool has =
        n->metric && as_metric_has(n->metric) && !strcmp(n->value, as_show(buf, sizeof buf, n->metric->value, n->metric->unit));
    fputs("<div class=\"tile\"><h2>", p->file);
    as_page_put(p, n->label);
    fputs("</h2><p class=\"big\"", p->file);
    if (n->metric)
        as_page_title(p, n->metric);
    fputc('>', p->file);
    if (has)
        as_page_value(p, n->metric);
    else
        as_page_signs(p, n->value);
    if (n->metric)
        as_page_kind(p, n->metric->kind);
    fputs("</p>", p->file);
    if (*n->aside)
        aside_write(p, n->aside);
    if (n->metric)
        as_page_origin(p, n->metric);
    const char *svg = n->chart ? as_chart_svg(&p->arena, n->chart) : "";
    p->failed |= !svg;
    fputs(svg ? svg : "", p->file);
    fputs("</div>\n", p->file);
}

/* --- Tables ------------------------------------------------------------------------------------------------- */

/* A bar for the time of the layer; in it, the part that the limit explains. */
static void bar_write(as_page *p, const as_brief_row *r)
{
    fputs("<td class=\"b\">", p->file);
    if (isfinite(r->bar)) {
        int used = isfinite(r->used) ? as_page_width(r->used) : 100;
        fprintf(p->file, "<span class=\"head w%d\"><span class=\"used w%d\"></span></span>", as_page_width(r->bar), used);
    }
    fputs("</td>", p->file);
}

static void row_write(as_page *p, const as_brief_table *t, const as_brief_row *r)
{
    const char *class = row_class(r->role);
    fprintf(p->file, class ? "<tr class=\"%s\">" : "<tr>", class);
    for (int c = 0; c < t->n_columns; c++) {
        fprintf(p->file, "<td%s>", t->left[c] ? " class=\"l\"" : "");
        as_page_signs(p, r->cells[c] ? r->cells[c] : "");
        fputs("</td>", p->file);
        if (!c && t->bars)
            bar_write(p, r);
    }
    fputs("</tr>\n", p->file);
}

static void table_write(as_page *p, const as_brief_table *t, const char *first_section)
{
    bool headroom = false;
    fprintf(p->file, "<div class=\"card\"><table class=\"short%s\"><thead><tr><th scope=\"col\" class=\"l\">",
            t->bars ? " bars" : "");
    as_page_put(p, t->columns[0]);
    fputs("</th>", p->file);
    for (int c = 1; c < t->n_columns; c++) {
        fputs(c == 1 && t->bars ? "<th class=\"b\"></th>" : "", p->file);
        fprintf(p->file, "<th scope=\"col\"%s>", t->left[c] ? " class=\"l\"" : "");
        as_page_put(p, t->columns[c]);
        fputs("</th>", p->file);
    }
    fputs("</tr></thead><tbody>\n", p->file);
    for (int i = 0; i < t->n_rows; i++) {
        row_write(p, t, &t->rows[i]);
        headroom |= t->bars && isfinite(t->rows[i].used);
    }
    fputs("</tbody></table>", p->file);
    if (headroom || first_section) {
        fputs("<p class=\"key\">", p->file);
        if (headroom)
            fputs("<span>time needed at the limit</span><span class=\"room\">head room</span>", p->file);
        if (first_section) {
            fputs("<a href=\"#", p->file);
            as_page_id(p, first_section);
            fputs("\">All layers</a>", p->file);
        }
        fputs("</p>", p->file);
    }
    fputs("</div>\n", p->file);
}

static void tries_write(as_page *p, const as_brief *b)
{
    fputs("<div class=\"card try\"><h2>What to try <span class=\"est\">by estimates</span></h2><ul>", p->file);
    for (int i = 0; i < b->n_tries; i++) {
        const as_brief_try *t = &b->tries[i];
        fputs("<li><p class=\"what\"><code>", p->file);
        as_page_put(p, t->what);
        fputs("</code><span>", p->file);
        as_page_put(p, t->effect);
        fputs("</span></p><p class=\"why\">", p->file);
        as_page_signs(p, t->why);
        fputs("</p>", p->file);
        if (t->command && *t->command) {
            fputs("<div class=\"cmd\"><code>", p->file);
            as_page_put(p, t->command);
            fputs("</code><button type=\"button\" class=\"copy\">Copy</button></div>", p->file);
        }
        fputs("</li>\n", p->file);
    }
    fputs("</ul></div>\n", p->file);
}

void as_page_brief(as_page *p, const as_brief *b, const char *when, const char *first_section)
{
    int t = 0;
    top_write(p, b, b->dated ? NULL : when);
    if (b->n_numbers) {
        fputs("<div class=\"tiles\">\n", p->file);
        for (int i = 0; i < b->n_numbers; i++)
            if (!b->numbers[i].drawn)
                tile_write(p, &b->numbers[i]);
        fputs("</div>\n", p->file);
    }
    if (b->n_tables || b->n_tries) { /* the first table on the left, what to try on the right */
        fprintf(p->file, "<div class=\"pair%s\">\n", b->n_tables && b->n_tries ? "" : " one");
        if (b->n_tables)
            table_write(p, &b->tables[t++], b->tables[0].bars ? first_section : NULL);
        if (b->n_tries)
            tries_write(p, b);
        fputs("</div>\n", p->file);
    }
    for (; t < b->n_tables; t++) {
        fputs("<div class=\"pair one\">\n", p->file);
        table_write(p, &b->tables[t], NULL);
        fputs("</div>\n", p->file);
    }
    for (int i = 0; i < b->n_texts; i++) {
        fputs("<p class=\"words\">", p->file);
        as_page_signs(p, b->texts[i]);
        fputs("</p>\n", p->file);
    }
    as_arena_drop(&p->arena);
}

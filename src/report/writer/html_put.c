/* html_put.c - words and numbers of the page. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/writer/html.h"

static const struct {
    const char *letter, *class;
} kinds[] = {
    [ASSAY_KIND_MISSING] = {"?", "ku"}, [ASSAY_MEASURED] = {"M", "km"},  [ASSAY_COUNTED] = {"C", "kc"},
    [ASSAY_DERIVED] = {"D", "kd"},      [ASSAY_MODELLED] = {"Mo", "ko"}, [ASSAY_UNAVAILABLE] = {"U", "ku"},
};

void as_page_put(as_page *p, const char *text) { fputs(as_escape_html(&p->arena, text), p->file); }

/* " us" at the end of a word is a unit, "usage" is not. */
void as_page_signs(as_page *p, const char *text)
{
    const char *safe = as_escape_html(&p->arena, text), *unit;
    while ((unit = strstr(safe, " us")) != NULL) {
        bool ends = !unit[3] || strchr(" ,.;:)", unit[3]);
        fprintf(p->file, "%.*s%s", (int)(unit - safe), safe, ends ? "\xc2\xa0µs" : " us");
        safe = unit + 3;
    }
    fputs(safe, p->file);
}

void as_page_id(as_page *p, const char *key)
{
    if (p->n_runs > 1)
        fprintf(p->file, "r%zu-", p->run + 1);
    for (; key && *key; key++) {
        bool is_plain = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z') || (*key >= '0' && *key <= '9');
        fputc(is_plain ? *key : '-', p->file);
    }
}

int as_page_width(double share) { return isfinite(share) ? (int)lround(fmin(fmax(share, 0), 1) * 100) : 0; }

void as_page_value(as_page *p, const assay_metric *m)
{
    const char *text = as_show_signs(&p->arena, m->value, m->unit), *space = strchr(text, ' ');
    if (!space) {
        as_page_put(p, text);
        return;
    }
    const char *number = as_arena_text_n(&p->arena, text, (size_t)(space - text));
    as_page_put(p, number ? number : "");
    fputs("\xe2\x80\xaf<i>", p->file); /* a narrow space that does not break */
    as_page_put(p, space + 1);
    fputs("</i>", p->file);
}

void as_page_kind(as_page *p, assay_kind kind)
{
    fprintf(p->file, "<sup class=\"%s\" title=\"%s\">%s</sup>", kinds[kind].class, assay_kind_text(kind), kinds[kind].letter);
}

static void certificate(as_page *p, const assay_metric *m)
{
    fputs(assay_kind_text(m->kind), p->file);
    if (m->source) {
        fputs("; source: ", p->file);
        as_page_put(p, m->source);
    }
    if (m->reason) {
        fputs("; reason: ", p->file);
        as_page_put(p, m->reason);
    }
    if (as_metric_has(m)) {
        char number[AS_NUMBER_BYTES];
        fprintf(p->file, "; n = %" PRIu64 "; exactly %s ", m->n, as_number(number, m->value));
        as_page_put(p, m->unit);
        if (m->lo < m->hi) {
            fputs("; interval ", p->file);
            as_page_put(p, as_show_interval_signs(&p->arena, m));
        } else {
            fputs(m->lo == m->hi ? "; exact" : "; no interval", p->file);
        }
    }
}

void as_page_title(as_page *p, const assay_metric *m)
{
    fputs(" title=\"", p->file);
    certificate(p, m);
    fputc('"', p->file);
}

void as_page_origin(as_page *p, const assay_metric *m)
{
    fputs("<span class=\"src\">", p->file);
    certificate(p, m);
    fputs("</span>", p->file);
}

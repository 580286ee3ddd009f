/* draw_flame.c - "flame": boxes from x to x_end in the row y, each below the last one before it of a smaller y; the page makes it zoom
 * and search. */
#include <math.h>
#include <string.h>

#include "report/chart/draw.h"

enum { FRAME = 24, MAX_DEPTH = 64, TEXT_ROWS = 24, TEXT_NAME = 34, TEXT_BAR = 24 };

/* A share of the whole; a thousandth of a pixel is enough, however far the reader zooms in. */
static void share_add(as_text *t, const char *name, double value)
{
    char buf[AS_NUMBER_BYTES];
    as_text_printf(t, " %s=\"%s\"", name, as_number(buf, round(value * 1e7) / 1e7));
}

/* Without script the picture stands as it is painted; the page's script reads the data- attributes to zoom and search. */
static void frame_add(as_paint *p, const as_chart *c, size_t i, double whole)
{
    const as_chart_series *s = &c->series[0];
    const char            *unit = c->x.unit ? c->x.unit : "1", *label = as_point_name(s, i), *detail = as_point_detail(s, i);
    double                 value = s->x_end[i] - s->x[i], w = value / whole * AS_CHART_WIDTH;
    double                 x = s->x[i] / whole * AS_CHART_WIDTH, y = 2 + s->y[i] * FRAME;
    int                    depth = (int)s->y[i], columns = (int)((w - 10) / 7.2);
    char                   share[64];
    const char            *tip = as_arena_printf(p->arena, "%s%s%s: %s, %s of the run", label, *detail ? ", " : "", detail,
                                                 as_show_signs(p->arena, value, unit), as_show(share, sizeof share, value / whole, "ratio"));
    as_text_add(&p->text, "<g class=\"f\"");
    share_add(&p->text, "data-x", s->x[i] / whole);
    share_add(&p->text, "data-w", value / whole);
    as_text_printf(&p->text, " data-d=\"%d\" data-l=\"%s\"", depth, as_escape_html(p->arena, label));
    as_text_printf(&p->text, " data-o=\"%s\">", as_escape_html(p->arena, detail));
    int tone = depth == 0 ? 6 : depth == 1 ? 5 : (int)(as_hash64(detail, strlen(detail)) % 5); /* one colour per operator */
    as_paint_rect(p, x + .5, y, fmax(w - 1, .3), FRAME - 2, as_tone_pale(tone), tip);
    as_paint_words(p, x + 6, y + 15, "start", "boxtext", columns < 2 ? "" : as_text_cut(p->arena, label, columns));
    as_text_add(&p->text, "</g>\n");
}

/* Its whole length, 0 when it is not a flame graph; *depth: of the deepest box. */
static double whole_of(const as_chart_series *s, int *depth)
{
    double whole = 0;
    *depth = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->x || !s->x_end || !isfinite(s->x[i]) || !isfinite(s->x_end[i]) || s->x[i] < 0 || s->x_end[i] < s->x[i] ||
            !(s->y[i] >= 0) || !(s->y[i] < MAX_DEPTH))
            return 0;
        whole = fmax(whole, s->x_end[i]);
        *depth = s->y[i] > *depth ? (int)s->y[i] : *depth;
    }
    return whole;
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint p;
    int      depth;
    double   whole = whole_of(&c->series[0], &depth);
    if (!(whole > 0))
        return "";
    as_paint_chart(&p, arena, 4 + (double)(depth + 1) * FRAME, c);
    as_text_add(&p.text, "<g>");
    for (size_t i = 0; i < c->series[0].n; i++)
        frame_add(&p, c, i, whole);
    as_text_add(&p.text, "</g>\n");
    const char *svg = as_paint_close(&p);
    if (!svg)
        return NULL;
    /* The class by which the script finds it; as_paint_open() begins every chart alike. */
    return as_arena_printf(arena, "<svg class=\"chart flame\" data-width=\"%d\"%s", (int)AS_CHART_WIDTH,
                           svg + strlen("<svg class=\"chart\""));
}

/* An indented tree with shares of the whole; only the longest boxes when there are many. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    const as_chart_series *s = &c->series[0];
    int                    depth, name = columns / 2 < TEXT_NAME ? columns / 2 : TEXT_NAME;
    double                 whole = whole_of(s, &depth), least = 0;
    size_t                 n_left = 0;
    for (bool many = true; many && whole > 0;) { /* raise the threshold until they fit */
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++)
            n += s->x_end[i] - s->x[i] >= least * whole;
        many = n > TEXT_ROWS && least < 1;
        least = many ? (least > 0 ? least * 2 : 1. / 1024) : least;
    }
    for (size_t i = 0; i < s->n && whole > 0; i++) {
        double      share = (s->x_end[i] - s->x[i]) / whole;
        int         indent = 2 * (int)s->y[i] < name / 2 ? 2 * (int)s->y[i] : name / 2, bar = columns - name - 10;
        const char *shown = as_arena_printf(arena, "%*s%s", indent, "", as_draw_name(arena, s, i, name - indent));
        if (share < least) {
            n_left++;
            continue;
        }
        as_text_pad(&t, shown ? shown : "", name + 1);
        as_text_printf(&t, "%5.1f %% ", 100 * share);
        as_draw_bar(&t, share, bar < TEXT_BAR ? bar : TEXT_BAR);
        as_text_add(&t, "\n");
    }
    if (n_left)
        as_text_printf(&t, "%zu more, each below %.2g %%\n", n_left, 100 * least);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_flame = {.name = "flame", .svg = svg, .text = text};

/* chart_graph.c - the flame graph of a run, and the network as a graph with its times. */
#include <math.h>
#include <string.h>

#include "report/pick.h"
#include "report/chart/svg.h"

/* --- Flame graph ------------------------------------------------------------------------------------------- */

enum { FRAME = 24, MAX_DEPTH = 32 };

static void number_add(as_text *t, const char *name, double value)
{
    char buf[AS_NUMBER_BYTES];
    as_text_printf(t, " %s=\"%s\"", name, as_number(buf, value));
}

/* Without script the picture stands as it is painted; the page's script reads the data- attributes to zoom and search. */
static void frame_add(as_paint *p, const as_frame *f, double whole, const char *unit)
{
    double      x = f->start / whole * AS_CHART_WIDTH, w = f->value / whole * AS_CHART_WIDTH, y = 2 + (double)f->depth * FRAME;
    const char *detail = f->detail ? f->detail : "";
    char        share[64];
    const char *tip =
        as_arena_printf(p->arena, "%s%s%s: %s, %s of the run", f->label, *detail ? ", " : "", detail,
                        as_show_signs(p->arena, f->value, unit), as_show(share, sizeof share, f->value / whole, "ratio"));
    as_text_add(&p->text, "<g class=\"f\"");
    number_add(&p->text, "data-x", f->start / whole);
    number_add(&p->text, "data-w", f->value / whole);
    as_text_printf(&p->text, " data-d=\"%d\" data-l=\"%s\"", f->depth, as_escape_html(p->arena, f->label));
    as_text_printf(&p->text, " data-s=\"%s %s\">", as_escape_html(p->arena, f->label), as_escape_html(p->arena, detail));
    as_paint_rect(p, x + .5, y, fmax(w - 1, .3), FRAME - 2,
                  as_tone_class(f->depth == 0   ? 6
                                : f->depth == 1 ? 5
                                                : (int)(as_hash64(detail, strlen(detail)) % 5)),
                  tip);
    int columns = (int)((w - 10) / 7.2);
    as_paint_words(p, x + 6, y + 15, "start", "boxtext", columns < 2 ? "" : as_text_cut(p->arena, f->label, columns));
    as_text_add(&p->text, "</g>\n");
}

const char *as_svg_flame(as_arena *arena, const as_frame *frames, int n, const char *unit, const char *title)
{
    as_paint p;
    double   whole = 0;
    int      depth = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(frames[i].start + frames[i].value) || frames[i].start < 0 || frames[i].value < 0 || frames[i].depth < 0 ||
            frames[i].depth >= MAX_DEPTH)
            return "";
        whole = fmax(whole, frames[i].start + frames[i].value);
        depth = frames[i].depth > depth ? frames[i].depth : depth;
    }
    if (!(whole > 0))
        return "";
    as_paint_open(&p, arena, 4 + (double)(depth + 1) * FRAME, title);
    as_text_printf(&p.text, "<g>");
    for (int i = 0; i < n; i++)
        frame_add(&p, &frames[i], whole, unit);
    as_text_add(&p.text, "</g>\n");
    const char *svg = as_paint_close(&p);
    if (!svg)
        return NULL;
    /* The class by which the script finds it; as_paint_open() begins every chart alike. */
    return as_arena_printf(arena, "<svg class=\"chart flame\" data-width=\"%d\"%s", (int)AS_CHART_WIDTH,
                           svg + strlen("<svg class=\"chart\""));
}

/* --- Graph ------------------------------------------------------------------------------------------------- */

enum { NODE_HEIGHT = 40, ROW_HEIGHT = 64, NODE_WIDTH = 210, NODE_GAP = 14 };

typedef struct place {
    int    row;
    double x, y, width;
} place;

/* The row of a vertex is one below the lowest that it reads: edges only go down. */
static int rows_find(const as_vertex *v, int n, place *places)
{
    int n_rows = 0;
    for (int i = 0; i < n; i++) {
        places[i].row = 0;
        for (int j = 0; j < v[i].n_inputs; j++) {
            int from = v[i].inputs[j];
            if (from < 0 || from >= i)
                return 0;
            if (places[from].row >= places[i].row)
                places[i].row = places[from].row + 1;
        }
        n_rows = places[i].row + 1 > n_rows ? places[i].row + 1 : n_rows;
    }
    /* What reads nothing and is no beginning of the body (a packed weight) stands just above its first reader. */
    for (int i = n - 1; i >= 0; i--) {
        int lowest = n_rows;
        for (int k = i + 1; k < n && !v[i].n_inputs; k++)
            for (int j = 0; j < v[k].n_inputs; j++)
                if (v[k].inputs[j] == i && places[k].row < lowest)
                    lowest = places[k].row;
        if (!v[i].n_inputs && lowest < n_rows)
            places[i].row = lowest - 1;
    }
    return n_rows;
}

/* A row is centred; when it is full its nodes get narrower, down to what still shows a bar. */
static bool rows_place(const as_vertex *v, int n, int n_rows, place *places, as_arena *arena)
{
    int *counts = AS_TAKE(arena, int, n_rows), *used = AS_TAKE(arena, int, n_rows);
    (void)v;
    if (!counts || !used)
        return false;
    for (int i = 0; i < n; i++)
        counts[places[i].row]++;
    for (int i = 0; i < n; i++) {
        int    count = counts[places[i].row];
        double width = fmin(NODE_WIDTH, (AS_CHART_WIDTH - 20 - (count - 1) * (double)NODE_GAP) / count);
        double gap = NODE_GAP;
        if (width < 12) {
            gap = 1;
            width = fmax((AS_CHART_WIDTH - 20 - (count - 1)) / count, 1);
        }
        double left = (AS_CHART_WIDTH - count * width - (count - 1) * gap) / 2;
        places[i].width = width;
        places[i].x = left + used[places[i].row]++ * (width + gap);
        places[i].y = 8 + (double)places[i].row * ROW_HEIGHT;
    }
    return true;
}

static void edge_add(as_paint *p, const place *from, const place *to)
{
    double x1 = from->x + from->width / 2, y1 = from->y + NODE_HEIGHT, x2 = to->x + to->width / 2, y2 = to->y, bend = (y2 - y1) / 2;
    /* An edge over several rows swings aside, or the nodes between would hide it. */
    double side = to->row - from->row > 1 ? fmin(from->width, to->width) / 2 + 40 : 0;
    double numbers[] = {x1, y1, x1 + side, y1 + bend * (side > 0 ? .5 : 1), x2 + side, y2 - bend * (side > 0 ? .5 : 1), x2, y2};
    static const char *const marks[] = {
        "<path class=\"edge\" fill=\"none\" stroke=\"#9aa3b2\" d=\"M", ",", "C", ",", " ", ",", " ", ","};
    for (int i = 0; i < 8; i++) {
        as_text_add(&p->text, marks[i]);
        as_paint_number(p, numbers[i]);
    }
    as_text_add(&p->text, "\"/>\n");
}

static void vertex_add(as_paint *p, const as_vertex *v, const place *at, double most, const char *unit)
{
    bool        has = isfinite(v->value) && v->value >= 0;
    const char *value = has ? as_show_signs(p->arena, v->value, unit) : "n/a";
    const char *tip = as_arena_printf(p->arena, "%s, %s: %s", v->label, v->detail ? v->detail : "", value);
    int         columns = (int)((at->width - 14) / 7.2), room = columns - as_text_columns(value) - 1;
    as_paint_rect(p, at->x, at->y, at->width, NODE_HEIGHT, "track", tip);
    as_paint_rect(p, at->x, at->y + NODE_HEIGHT - 5, has && most > 0 ? fmax(v->value / most * at->width, 1) : 0, 5,
                  as_tone_class(0), tip);
    if (columns >= 3)
        as_paint_words(p, at->x + 7, at->y + 15, "start", "text", as_text_cut(p->arena, v->label, columns));
    if (columns >= 8)
        as_paint_words(p, at->x + at->width - 7, at->y + 30, "end", "faint", value);
    if (room >= 3 && v->detail)
        as_paint_words(p, at->x + 7, at->y + 30, "start", "faint", as_text_cut(p->arena, v->detail, room));
}

const char *as_svg_graph(as_arena *arena, const as_vertex *vertices, int n, const char *unit, const char *title)
{
    as_paint p;
    double   most = 0;
    place   *places = AS_TAKE(arena, place, n > 0 ? n : 0);
    if (n < 1)
        return "";
    if (!places)
        return NULL;
    int n_rows = rows_find(vertices, n, places), n_edges = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, isfinite(vertices[i].value) ? vertices[i].value : 0);
        n_edges += vertices[i].n_inputs;
    }
    if (!n_rows || !n_edges)
        return ""; /* an older trace: a graph without edges would be a lie */
    if (!rows_place(vertices, n, n_rows, places, arena))
        return NULL;
    as_paint_open(&p, arena, 16 + (double)n_rows * ROW_HEIGHT - (ROW_HEIGHT - NODE_HEIGHT), title);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < vertices[i].n_inputs; j++)
            edge_add(&p, &places[vertices[i].inputs[j]], &places[i]);
    for (int i = 0; i < n; i++)
        vertex_add(&p, &vertices[i], &places[i], most, unit);
    return as_paint_close(&p);
}

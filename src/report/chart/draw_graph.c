/* draw_graph.c - "graph": points with links, each below all that it reads, with a bar for its value relative to the largest; NaN:
 * none. */
#include <math.h>

#include "report/chart/draw.h"

enum {
    NODE_HEIGHT = 40,
    ROW_HEIGHT = 60,
    NODE_WIDTH = 204,
    NODE_GAP = 14,
    COLUMN_GAP = 28,
    MANY_ROWS = 10,
    MAX_TEXT = 24,
    TEXT_NAME = 28,
    TEXT_READS = 30
};

typedef struct place {
    int    row, n_reads, column;
    double x, y, width;
} place;

static bool links_fit(const as_chart *c)
{
    for (int i = 0; i < c->n_links; i++)
        if (c->links[i].from < 0 || c->links[i].from >= c->links[i].to || (size_t)c->links[i].to >= c->series[0].n ||
            (i && c->links[i].to < c->links[i - 1].to))
            return false;
    return c->n_links > 0; /* a graph without links would be wrong */
}

/* The row of a point is one below the lowest that it reads: links only go down, and come in the order of their readers. */
static int rows_find(const as_chart *c, place *places)
{
    int n = (int)c->series[0].n, n_rows = 1;
    for (int i = 0; i < c->n_links; i++) {
        place *from = &places[c->links[i].from], *to = &places[c->links[i].to];
        to->n_reads++;
        if (from->row >= to->row)
            to->row = from->row + 1;
        n_rows = to->row + 1 > n_rows ? to->row + 1 : n_rows;
    }
    /* A point that reads nothing and is not a start of the body (a packed weight) is placed just above its first reader. */
    for (int i = 0; i < n; i++) {
        int lowest = n_rows;
        for (int k = 0; k < c->n_links && !places[i].n_reads; k++)
            if (c->links[k].from == i && places[c->links[k].to].row < lowest)
                lowest = places[c->links[k].to].row;
        if (!places[i].n_reads && lowest < n_rows)
            places[i].row = lowest - 1;
    }
    return n_rows;
}

/* A long and narrow graph is set in columns, like a text, to be read downwards and then to the right. */
typedef struct setting {
    int    n_rows, n_columns, rows_each;
    double width; /* of a column */
} setting;

static setting setting_make(int n_rows, const int *counts)
{
    setting s = {.n_rows = n_rows, .n_columns = 1};
    int     most = 1;
    for (int i = 0; i < n_rows; i++)
        most = counts[i] > most ? counts[i] : most;
    double need = most * (double)NODE_WIDTH + (most - 1) * (double)NODE_GAP;
    while (n_rows > MANY_ROWS && s.n_columns * MANY_ROWS < n_rows &&
           (s.n_columns + 1) * need + s.n_columns * (double)COLUMN_GAP <= AS_CHART_WIDTH - 20)
        s.n_columns++;
    s.rows_each = (n_rows + s.n_columns - 1) / s.n_columns;
    s.width = (AS_CHART_WIDTH - 20 - (s.n_columns - 1) * (double)COLUMN_GAP) / s.n_columns;
    return s;
}

/* A row is centred in its column; when it is full its nodes get narrower, as long as a bar can still be shown. */
static bool rows_place(size_t n, int n_rows, place *places, as_arena *arena, setting *out)
{
    int *counts = AS_TAKE(arena, int, n_rows), *used = AS_TAKE(arena, int, n_rows);
    if (!counts || !used)
        return false;
    for (size_t i = 0; i < n; i++)
        counts[places[i].row]++;
    setting s = *out = setting_make(n_rows, counts);
    for (size_t i = 0; i < n; i++) {
        int    count = counts[places[i].row];
        double width = fmin(NODE_WIDTH, (s.width - (count - 1) * (double)NODE_GAP) / count);
        double gap = NODE_GAP;
        if (width < 12) {
            gap = 1;
            width = fmax((s.width - (count - 1)) / count, 1);
        }
        places[i].column = places[i].row / s.rows_each;
        double left = 10 + places[i].column * (s.width + COLUMN_GAP) + (s.width - count * width - (count - 1) * gap) / 2;
        places[i].width = width;
        places[i].x = left + used[places[i].row]++ * (width + gap);
        places[i].y = 8 + (double)(places[i].row % s.rows_each) * ROW_HEIGHT;
    }
    return true;
}

static void edge_add(as_paint *p, const place *from, const place *to)
{
    double x1 = from->x + from->width / 2, y1 = from->y + NODE_HEIGHT, x2 = to->x + to->width / 2, y2 = to->y, bend = (y2 - y1) / 2;
    /* An edge over several rows curves aside, otherwise the nodes between would hide it. */
    double side = to->row - from->row > 1 ? fmin(from->width, to->width) * .67 + 40 : 0;
    if (from->column != to->column) { /* from the right side of one column into the left side of the next */
        x1 = from->x + from->width, y1 = from->y + NODE_HEIGHT / 2.0, x2 = to->x, y2 = to->y + NODE_HEIGHT / 2.0;
        side = (x2 - x1) / 2, bend = 0;
    }
    double                   numbers[] = {x1,
                                          y1,
                                          x1 + side,
                                          y1 + bend * (side > 0 ? .5 : 1),
                                          x2 + (from->column != to->column ? -side : side),
                                          y2 - bend * (side > 0 ? .5 : 1),
                                          x2,
                                          y2};
    static const char *const marks[] = {
        "<path class=\"edge\" fill=\"none\" stroke=\"#9aa3b2\" d=\"M", ",", "C", ",", " ", ",", " ", ","};
    for (int i = 0; i < 8; i++) {
        as_text_add(&p->text, marks[i]);
        as_paint_number(p, numbers[i]);
    }
    as_text_add(&p->text, "\"/>\n");
}

static void vertex_add(as_paint *p, const as_chart *c, size_t i, const place *at, double most)
{
    const as_chart_series *s = &c->series[0];
    bool                   has = isfinite(s->y[i]) && s->y[i] >= 0;
    const char            *label = as_point_name(s, i), *detail = as_point_detail(s, i);
    const char            *value = has ? as_show_signs(p->arena, s->y[i], c->y[0].unit ? c->y[0].unit : "1") : "n/a";
    const char            *tip = as_arena_printf(p->arena, "%s, %s: %s", label, detail, value);
    int                    columns = (int)((at->width - 14) / 7.2), room = columns - as_text_columns(value) - 1;
    as_paint_rect(p, at->x, at->y, at->width, NODE_HEIGHT, "track", tip);
    as_paint_rect(p, at->x, at->y + NODE_HEIGHT - 5, has && most > 0 ? fmax(s->y[i] / most * at->width, 1) : 0, 5, as_tone_class(0),
                  tip);
    if (columns >= 3)
        as_paint_words(p, at->x + 7, at->y + 15, "start", "text", as_text_cut(p->arena, label, columns));
    if (columns >= 8 && has)
        as_paint_words(p, at->x + at->width - 7, at->y + 30, "end", "faint", value);
    if (room >= 3)
        as_paint_words(p, at->x + 7, at->y + 30, "start", "faint", as_text_cut(p->arena, detail, room));
}

static const char *svg(as_arena *arena, const as_chart *c)
{
    as_paint p;
    double   lo, most;
    size_t   n = c->series[0].n;
    if (!links_fit(c))
        return "";
    setting set;
    place  *places = AS_TAKE(arena, place, n);
    if (!places)
        return NULL;
    int n_rows = rows_find(c, places);
    if (!as_range_of(c->series[0].y, n, &lo, &most))
        most = 0; /* no step was timed: the order is still worth a picture */
    if (!rows_place(n, n_rows, places, arena, &set))
        return NULL;
    as_paint_chart(&p, arena, 16 + (double)set.rows_each * ROW_HEIGHT - (ROW_HEIGHT - NODE_HEIGHT), c);
    for (int i = 0; i < c->n_links; i++)
        edge_add(&p, &places[c->links[i].from], &places[c->links[i].to]);
    for (size_t i = 0; i < n; i++)
        vertex_add(&p, c, i, &places[i], most);
    return as_paint_close(&p);
}

/* One line per point: its name, its value, and the numbers of the points that it reads. */
static const char *text(as_arena *arena, const as_chart *c, int columns)
{
    as_text                t = {0};
    char                   number[64];
    const as_chart_series *s = &c->series[0];
    int                    name;
    const char *const     *names = as_draw_names(arena, s, columns - 16 - 10 < TEXT_NAME ? columns - 16 - 10 : TEXT_NAME, &name);
    size_t                 n = s->n < MAX_TEXT ? s->n : MAX_TEXT;
    if (!names)
        return NULL;
    if (!links_fit(c))
        return "";
    for (size_t i = 0; i < n; i++) {
        as_text reads = {0};
        for (int k = 0; k < c->n_links; k++)
            if ((size_t)c->links[k].to == i)
                as_text_printf(&reads, " %d", c->links[k].from);
        as_text_printf(&t, "%3zu ", i);
        as_text_pad(&t, names[i], name + 1);
        as_text_printf(&t, "%11s", as_show(number, sizeof number, s->y[i], c->y[0].unit ? c->y[0].unit : "1"));
        if (reads.data)
            as_text_printf(&t, " <-%s", as_text_cut(arena, reads.data, columns - name - 19));
        as_text_add(&t, "\n");
        t.failed |= reads.failed;
        as_text_drop(&reads);
    }
    if (s->n > n)
        as_text_printf(&t, "and %zu more\n", s->n - n);
    return as_text_keep(arena, &t);
}

const as_drawing as_draw_graph = {.name = "graph", .svg = svg, .text = text};

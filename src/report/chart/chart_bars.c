/* chart_bars.c - horizontal bars, and boxes over steps. */
#include <math.h>
#include <string.h>

#include "report/pick.h"
#include "report/chart/svg.h"

enum {
    ROW = 26,
    LABEL_WIDTH = 200,
    LABEL_CHARS = 25,
    VALUE_WIDTH = 84,
    DETAIL_WIDTH = 126,
    DETAIL_CHARS = 17,
    BAR_ROOM = (int)AS_CHART_WIDTH - LABEL_WIDTH - VALUE_WIDTH - DETAIL_WIDTH
};

/* The label on the left, a pale track, the bar, then columns for the value and the detail.  Hovering over any of them tells all, uncut. */
static void bar_paint(as_paint *p, const as_bar *bar, double y, double share, const char *value)
{
    as_paint_group(
        p, as_arena_printf(p->arena, "%s: %s%s%s", bar->label, value, bar->detail ? ", " : "", bar->detail ? bar->detail : ""));
    as_paint_words(p, LABEL_WIDTH - 10, y + 17, "end", "text", as_name_cut(p->arena, bar->label, LABEL_CHARS));
    as_paint_rect(p, LABEL_WIDTH, y + 4, BAR_ROOM, ROW - 9, "track", NULL);
    as_paint_rect(p, LABEL_WIDTH, y + 4, fmax(share * BAR_ROOM, 1), ROW - 9, as_tone_class(0), NULL);
    as_paint_words(p, LABEL_WIDTH + BAR_ROOM + 10, y + 17, "start", "text", value);
    if (bar->detail)
        as_paint_words(p, AS_CHART_WIDTH - 2, y + 17, "end", "faint", as_text_cut(p->arena, bar->detail, DETAIL_CHARS));
    as_paint_group_end(p);
}

const char *as_svg_bars(as_arena *arena, const as_bar *bars, int n, const char *unit, const char *title)
{
    as_paint p;
    double   most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, isfinite(bars[i].value) ? bars[i].value : 0);
    if (n < 1 || !(most > 0))
        return "";
    as_paint_open(&p, arena, 8 + (double)n * ROW, title);
    for (int i = 0; i < n; i++)
        bar_paint(&p, &bars[i], 4 + (double)i * ROW, isfinite(bars[i].value) ? fmax(bars[i].value, 0) / most : 0,
                  as_show_signs(arena, bars[i].value, unit));
    return as_paint_close(&p);
}

/* --- Boxes ---------------------------------------------------------------------------------------------- */

enum { BOX_LEFT = 76, BOX_TOP = 28, BOX_HEIGHT = 240, BOX_BOTTOM = 40 };

static void legend_add(as_paint *p, const as_box *boxes, int n)
{
    bool   seen[AS_N_TONES] = {false};
    double x = BOX_LEFT;
    for (int i = 0; i < n; i++) {
        int tone = boxes[i].tone >= 0 && boxes[i].tone < AS_N_TONES ? boxes[i].tone : AS_N_TONES - 1;
        if (!boxes[i].group || seen[tone])
            continue;
        seen[tone] = true;
        as_paint_rect(p, x, 6, 11, 11, as_tone_class(tone), NULL);
        const char *words = as_text_cut(p->arena, boxes[i].group, 14);
        as_paint_words(p, x + 16, 16, "start", "faint", words);
        x += 34 + 7 * as_text_columns(words);
    }
}

static bool bounds_of(const as_box *boxes, int n, double *x1, double *y1)
{
    *x1 = *y1 = 0;
    for (int i = 0; i < n; i++) {
        const as_box *b = &boxes[i];
        if (!isfinite(b->x0) || !isfinite(b->x1) || !isfinite(b->y0) || !isfinite(b->y1) || b->x0 < 0 || b->y0 < 0 ||
            b->x1 < b->x0 || b->y1 < b->y0)
            return false;
        *x1 = fmax(*x1, b->x1);
        *y1 = fmax(*y1, b->y1);
    }
    return n > 0 && *x1 > 0 && *y1 > 0;
}

const char *as_svg_boxes(as_arena *arena, const as_box *boxes, int n, const char *x_label, const char *y_unit, const char *title)
{
    as_paint p;
    as_axis  axis;
    char     label[64];
    double   x1, y1, width = AS_CHART_WIDTH - BOX_LEFT - 10, floor_y = BOX_TOP + BOX_HEIGHT;
    if (!bounds_of(boxes, n, &x1, &y1) || !as_axis_make(&axis, 0, y1, 4, y_unit))
        return "";
    as_paint_open(&p, arena, BOX_TOP + BOX_HEIGHT + BOX_BOTTOM, title);
    legend_add(&p, boxes, n);
    for (double v = 0; v <= axis.hi + axis.step / 2; v += axis.step) {
        double y = floor_y - as_axis_share(&axis, v) * BOX_HEIGHT;
        as_paint_line(&p, BOX_LEFT, y, BOX_LEFT + width, y, "grid");
        as_paint_words(&p, BOX_LEFT - 8, y + 4, "end", "faint", as_axis_label(&axis, label, sizeof label, v));
    }
    for (int i = 0; i < n; i++) {
        const as_box *b = &boxes[i];
        double        x = BOX_LEFT + b->x0 / x1 * width, w = (b->x1 - b->x0) / x1 * width;
        double        y = floor_y - as_axis_share(&axis, b->y1) * BOX_HEIGHT,
               h = as_axis_share(&axis, b->y1 - b->y0 + axis.lo) * BOX_HEIGHT;
        const char *tip = as_arena_printf(arena, "%s%s%s, %s", b->label, b->group ? ", " : "", b->group ? b->group : "",
                                          as_show_signs(arena, b->y1 - b->y0, y_unit));
        as_paint_rect(&p, x + .5, y, fmax(w - 1, 1), fmax(h - .5, 1), as_tone_class(b->tone), tip);
        if (h >= 15 && w >= 40)
            as_paint_words(&p, x + 6, y + h / 2 + 4, "start", "boxtext", as_text_cut(arena, b->label, (int)(w / 7.5)));
    }
    int n_steps = (int)fmin(x1, 1e6), every = n_steps / 12 + 1;
    for (int i = 0; i < n_steps; i += every) {
        snprintf(label, sizeof label, "%d", i);
        as_paint_words(&p, BOX_LEFT + (i + .5) / x1 * width, floor_y + 16, "middle", "faint", label);
    }
    as_paint_words(&p, BOX_LEFT + width / 2, floor_y + 34, "middle", "faint", x_label);
    return as_paint_close(&p);
}

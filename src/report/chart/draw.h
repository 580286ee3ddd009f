/* draw.h - drawings: a chart's data as SVG or as characters.  One kind per file: draw_<kind>.c.
 *
 * Only writers draw.  A drawing accepts any numbers: those that are not finite are left out, and "" means that there is nothing
 * to draw. */
#ifndef AS_REPORT_DRAW_H
#define AS_REPORT_DRAW_H

#include "report/chart.h"
#include "report/chart/svg.h"
#include "report/words.h"

typedef struct as_drawing {
    const char *name; /* the charts' kind: "bars" */
    const char *(*svg)(as_arena *arena, const as_chart *c);
    const char *(*text)(as_arena *arena, const as_chart *c,
                        int columns); /* lines of at most this many columns, AS_DRAW_COLUMNS or fewer */
} as_drawing;
extern const as_drawing *const as_draw_table[];

enum { AS_DRAW_COLUMNS = 72, AS_DRAW_LEAST_COLUMNS = 36 };

/* By the chart's kind, "" when no drawing has its name; NULL: no memory. */
const char *as_chart_svg(as_arena *arena, const as_chart *c); /* a self-contained <svg> */
const char *as_chart_text(as_arena *arena, const as_chart *c, int columns);

/* --- For drawings: SVG -------------------------------------------------------------------------------------- */

/* Begins the picture with the chart's title and its sentence. */
void as_paint_chart(as_paint *p, as_arena *arena, double height, const as_chart *c);
void as_paint_chart_wide(as_paint *p, as_arena *arena, double width, double height, const as_chart *c); /* of another width */
const char *as_role_class(as_chart_role role); /* the style of areas and words */
bool        as_chart_x_range(const as_chart *c, double *lo, double *hi);
/* The margin around zero: the limit on y; 0: none. */
double as_draw_margin(const as_chart *c);
/* "+5 %": always with a sign. */
const char *as_axis_signed(const as_axis *axis, char *buf, size_t size, double value);
/* Horizontal grid lines with their numbers on the left. */
void as_paint_levels(as_paint *p, const as_axis *axis, double left, double right, double floor_y, double height, bool is_signed);
/* The x axis below the plot, in seconds or the axis's own unit. */
void as_paint_places(as_paint *p, const char *unit, double lo, double hi, int n_ticks, double left, double width, double y);

/* --- For drawings: characters ------------------------------------------------------------------------------- */

/* The names of all points, cleaned, cut to at most this many columns but still distinct; *width: of the widest.  NULL: no
 * memory. */
const char *const *as_draw_names(as_arena *arena, const as_chart_series *s, int most, int *width);
const char        *as_draw_name(as_arena *arena, const as_chart_series *s, size_t i, int columns); /* of one */
void               as_draw_bar(as_text *t, double share, int columns);                             /* eighths of a block, padded */
/* Lines of name, bar and amount: points order[0] to order[n - 1] (NULL: all in their order), bars relative to the largest. */
void as_draw_bar_rows(as_arena *arena, as_text *t, const as_chart *c, const as_chart_series *s, const size_t *order, size_t n,
                      int columns);
int  as_draw_place(double value, double lo, double hi, int n); /* 0 to n - 1, clamped */
/* `[--o--]` with `:` for the margin and `|` for zero; `<` and `>` where it extends beyond the track, which holds n characters and
 * a 0. */
void as_draw_interval(char *track, int n, double value, double low, double high, double margin, double lo, double hi);
/* "+1.5 %", and "+1e+20 %" where that would be a long row of digits. */
const char *as_draw_percent(char *buf, size_t size, double share);
/* A histogram: one row per bin. */
void as_draw_bins(as_arena *arena, as_text *t, const double *x, size_t n, const char *unit, int columns);
/* One character per group of points, whose height is the group's median; false: nothing is finite. */
bool as_draw_spark(as_arena *arena, as_text *t, const double *y, size_t n, int columns, double *lo, double *hi);

/* Where a picture of samples up to `hi` ends on the right.  A few outliers would squeeze the body into one bin; instead they are
 * counted in a bin of their own, which says how many they are and how far out. */
double as_far_end(as_arena *arena, const double *x, size_t n, double hi);

#endif

/* svg.h - what the drawings share: painting into a string, and axes with round numbers.
 *
 * Colours are CSS classes (c0 to c6, text, faint, grid, mark ...) that a page may restyle, light or dark; each shape also has a
 * plain colour, so that the picture works on its own.  Numbers never depend on the locale. */
#ifndef AS_REPORT_SVG_H
#define AS_REPORT_SVG_H

#include "base/text.h"

#define AS_CHART_WIDTH 920.0
#define AS_N_TONES     7

typedef struct as_paint {
    as_arena *arena;
    as_text   text;
} as_paint;

void as_paint_open(as_paint *p, as_arena *arena, double height, const char *title);
void as_paint_open_wide(as_paint *p, as_arena *arena, double width, double height, const char *title); /* of another width */
void as_paint_number(as_paint *p, double value); /* a tenth of a pixel is enough */
void as_paint_rect(as_paint *p, double x, double y, double width, double height, const char *class, const char *tip);
void as_paint_line(as_paint *p, double x1, double y1, double x2, double y2, const char *class);
void as_paint_words(as_paint *p, double x, double y, const char *anchor, const char *class, const char *words); /* escapes */
void as_paint_dot(as_paint *p, double x, double y, double radius, const char *class, const char *tip);
void as_paint_dots(as_paint *p, const double *xy, size_t n, double radius, const char *class); /* many, of a class of lines */
void as_paint_area(as_paint *p, const double *xy, int n, const char *class, const char *tip);  /* n corners, x and y each */
void as_paint_veil(as_paint *p, const double *xy, int n, const char *class, const char *tip);  /* the same, but transparent */
void as_paint_haze(as_paint *p, const double *xy, int n, const char *class, const char *tip);  /* the same, very light */
void as_paint_path(as_paint *p, const double *xy, int n, const char *class);                   /* a line through n points */
void as_paint_group(as_paint *p, const char *tip);                                             /* everything up to its end has this
                                                                                               * tooltip */
void as_paint_group_end(as_paint *p);
const char *as_paint_close(as_paint *p); /* NULL: no memory */
const char *as_tone_class(int tone);
const char *as_tone_stroke(int tone); /* the same for lines */
const char *as_tone_pale(int tone);   /* the same for boxes with text on them */

/* From lo to hi in round steps, in the most readable unit. */
typedef struct as_axis {
    double      lo, hi, step, factor;
    const char *unit;
    int         decimals;
} as_axis;

bool        as_axis_make(as_axis *axis, double lo, double hi, int n_ticks, const char *unit); /* false: not finite */
const char *as_axis_label(const as_axis *axis, char *buf, size_t size, double value);
double      as_axis_share(const as_axis *axis, double value); /* 0 at lo, 1 at hi */

#endif

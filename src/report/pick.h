/* pick.h - what sections share: picking facts by key into blocks, and charts in characters.
 *
 * Facts may come from a file, so nothing is taken for granted: what is not there is left out, a cell may be text or a metric. */
#ifndef AS_REPORT_PICK_H
#define AS_REPORT_PICK_H

#include "report/report.h"

/* Blocks; each adds nothing when it would be empty. */
void as_pick_facts(as_doc *d, const assay_facts *f, as_block_kind kind, const char *const *keys); /* NULL-terminated */
void as_pick_group(as_doc *d, const assay_facts *f, const char *group);                           /* all its facts */
void as_pick_table(as_doc *d, const assay_facts *f, const char *group, const char *key);
void as_pick_findings(as_doc *d, const assay_facts *f, const char *group);
void as_pick_notes(as_doc *d, const assay_facts *f, const char *const *prefixes);                 /* NULL-terminated */
void as_pick_chart(as_doc *d, const char *caption, const char *svg, const char *plain);           /* NULL svg: memory ran out */

int           as_column_find(const as_table *t, const char *key);              /* -1: not there */
const as_cell *as_cell_at(const as_table *t, int row, int column);             /* NULL for column -1 */
const char   *as_cell_words(const as_cell *c);                                 /* its text, or "" */
double        as_cell_value(const as_cell *c);                                 /* its number, or NaN */

/* Charts in characters, at most 76 columns wide; labels are cleaned. */
const char *as_plain_bars(as_arena *arena, const as_bar *bars, int n, const char *unit);
const char *as_plain_histogram(as_arena *arena, const double *x, size_t n, const char *unit);
const char *as_plain_line(as_arena *arena, const double *y, size_t n, const char *unit);

/* Where a picture of samples up to `hi` ends on the right.  A few far out would press the body into one bin; they are counted in a
 * bin of their own instead, which says how many and how far. */
double as_far_end(as_arena *arena, const double *x, size_t n, double hi);

/* as_show() and as_show_interval() with the signs that a page can show: µs, °C. */
const char *as_show_signs(as_arena *arena, double value, const char *unit);
const char *as_show_interval_signs(as_arena *arena, const assay_metric *m);

/* Text fit for a terminal: no control characters, no direction overrides, valid UTF-8. */
const char *as_clean_text(as_arena *arena, const char *text);
/* Columns it takes on a terminal: one a character. */
int         as_text_columns(const char *text);
/* At most so many columns of it, the last one "…" when something was cut. */
const char *as_text_cut(as_arena *arena, const char *text, int columns);

#endif

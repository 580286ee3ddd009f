/* pick.h - what sections share: picking facts by key into blocks, and charts in characters.
 *
 * Facts may come from a file, so nothing is taken for granted: what is not there is left out, a cell may be text or a metric. */
#ifndef AS_REPORT_PICK_H
#define AS_REPORT_PICK_H

#include "base/text.h"
#include "report/report.h"

/* Blocks; each adds nothing when it would be empty. */
void as_pick_facts(as_doc *d, const assay_facts *f, as_block_kind kind, const char *const *keys); /* NULL-terminated */
void as_pick_group(as_doc *d, const assay_facts *f, const char *group);                           /* all its facts */
void as_pick_table(as_doc *d, const assay_facts *f, const char *group, const char *key);
void as_pick_findings(as_doc *d, const assay_facts *f, const char *group);
void as_pick_notes(as_doc *d, const assay_facts *f, const char *const *prefixes);       /* NULL-terminated */
void as_pick_chart(as_doc *d, const char *caption, const char *svg, const char *plain); /* NULL svg: memory ran out */

int            as_column_find(const as_table *t, const char *key);       /* -1: not there */
const as_cell *as_cell_at(const as_table *t, int row, int column);       /* NULL for column -1 */
const char    *as_cell_words(const as_cell *c);                          /* its text, or "" */
const char    *as_words_at(const as_table *t, int row, const char *key); /* the text of a column by name, or "" */
double         as_value_at(const as_table *t, int row, const char *key); /* its number, or NaN */
double         as_cell_value(const as_cell *c);                          /* its number, or NaN */

/* Charts in characters, at most 76 columns wide unless said; labels are cleaned. */
const char *as_plain_bars(as_arena *arena, const as_bar *bars, int n, const char *unit);
const char *as_plain_histogram(as_arena *arena, const double *x, size_t n, const char *unit);
const char *as_plain_line(as_arena *arena, const double *y, size_t n, const char *unit);

/* Intervals on a common axis, `[` and `]` the ends, `o` the value (`<`, `>`: further out), `:` the margin and `|` zero; 90 columns. */
const char *as_plain_forest(as_arena *arena, const as_forest_row *rows, int n, double margin);
/* A point a column, with the level of segments and where it changed; so many columns and rows. */
const char *as_plain_history(as_arena *arena, const as_history_picture *h, int columns, int rows);
/* A row a value, a letter an arm: left is faster. */
const char *as_plain_sweep(as_arena *arena, const as_sweep_line *lines, int n, const char *const *labels);

/* The pictures of case i of a group whose series analysis/trial_facts.h made: blocks and probes over time.  plain: also in characters. */
void as_pick_noise(as_doc *d, const assay_facts *f, const char *group, int i, const char *name, bool plain);
/* The forest picture of a table with columns "case", "change" and a word a row, by which its tone is chosen. */
void as_pick_forest(as_doc *d, const as_table *t, const char *word, double margin, const char *caption);
/* How a verdict, status or word about noise is meant: "slower" is bad, "unresolved" a warning. */
as_level         as_level_of(const char *word);
const as_series *as_series_at(const assay_facts *f, const char *group, int i, const char *what); /* "3.fma" */

/* The axis of a forest: it begins and ends where rows do, but for a few far out. */
bool as_forest_range(as_arena *arena, const as_forest_row *rows, int n, double margin, double *lo, double *hi);

/* Where a picture of samples up to `hi` ends on the right.  A few far out would press the body into one bin; they are counted in a
 * bin of their own instead, which says how many and how far. */
double as_far_end(as_arena *arena, const double *x, size_t n, double hi);

/* as_show() and as_show_interval() with the signs that a page can show: µs, °C. */
const char *as_show_signs(as_arena *arena, double value, const char *unit);
const char *as_show_interval_signs(as_arena *arena, const assay_metric *m);

/* The text moves into the arena, and is dropped; NULL: no memory. */
const char *as_text_keep(as_arena *arena, as_text *t);
/* Adds it with spaces up to so many columns. */
void as_text_pad(as_text *t, const char *text, int columns);
/* "2026-11-16", of seconds since 1970; with the minute where all points lie within two days. */
const char *as_point_date(char *buf, size_t size, const as_history_picture *h, size_t i);

/* Text fit for a terminal: no control characters, no direction overrides, valid UTF-8. */
const char *as_clean_text(as_arena *arena, const char *text);
/* At most so many columns of it, the last one "…" when something was cut. */
const char *as_text_cut(as_arena *arena, const char *text, int columns);
/* The same in the middle, which says least of a name: "elementwi…256/f16". */
const char *as_name_cut(as_arena *arena, const char *name, int columns);

#endif

/* report.h - facts -> sections -> one neutral document -> writers.
 *
 * A section (sec_<name>.c) picks facts and says them: headings, paragraphs, metric lists, tables, charts.  A writer (wr_<name>.c) turns
 * the document into text or HTML; wr_json writes the facts themselves.  Sections know no format and writers know no facts. */
#ifndef AS_REPORT_REPORT_H
#define AS_REPORT_REPORT_H

#include "analysis/analysis.h"

typedef enum as_block_kind {
    AS_BLOCK_TITLE,
    AS_BLOCK_HEADING,
    AS_BLOCK_TEXT,
    AS_BLOCK_FACTS,
    AS_BLOCK_TABLE,
    AS_BLOCK_CHART,
    AS_BLOCK_FINDINGS,
    AS_BLOCK_KEYVALUES,
    AS_BLOCK_HERO
} as_block_kind;

typedef struct as_block {
    as_block_kind              kind;
    const char                *key;  /* anchor of headings */
    const char                *text; /* title, heading, paragraph, chart caption */
    const as_fact *const      *facts;
    int                        n_facts; /* FACTS and HERO (the few big numbers) */
    const as_table            *table;
    const as_finding          *findings;
    int                        n_findings;
    const as_fact_note *const *pairs;
    int                        n_pairs; /* KEYVALUES */
    const char                *svg;     /* CHART: a self-contained <svg>, colours by CSS classes with fallbacks */
    const char                *plain;   /* CHART: the same in characters, for text */
    bool                       detail;  /* left out of a brief text */
} as_block;

typedef struct as_doc {
    as_arena  arena;
    as_block *blocks;
    int       n_blocks, cap_blocks;
    bool      failed; /* memory ran out */
    bool      detail; /* what is added now is detail */
} as_doc;

void as_doc_add(as_doc *d, const as_block *block);
void as_doc_heading(as_doc *d, const char *key, const char *text);
void as_doc_text(as_doc *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct as_section {
    const char *name; /* "latency" */
    int         order;
    void (*write)(as_doc *d, const assay_facts *f);
    bool detail; /* all of it */
} as_section;
extern const as_section *const as_sec_table[];

typedef struct as_write_settings {
    bool        colour;   /* text only */
    int         width;    /* text only; 0: 100 */
    bool        brief;    /* text only: without the details, which other forms always have */
    const char *sections; /* "summary,layers": only these, in the report's own order; NULL: all.  JSON is always whole. */
} as_write_settings;

typedef struct as_writer {
    const char *name, *suffix, *help; /* "html", ".html" */
    assay_status (*write)(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                          const as_write_settings *s, FILE *file);
} as_writer;
extern const as_writer *const as_wr_table[];

const as_writer *as_writer_find(const char *name);
/* Facts to docs to the writer to `file`; every metric is checked again on the way.  A section that is not there is refused by name. */
assay_status as_report_write(assay_env *env, const assay_facts *const *facts, size_t n, const char *format,
                             const as_write_settings *s, FILE *file);
/* The same to a file that appears whole or not at all; NULL settings: the standard ones. */
assay_status as_report_save(assay_env *env, const assay_facts *const *facts, size_t n, const char *format,
                            const as_write_settings *s, const char *path);
/* BAD_INPUT for a name that is no section, with the nearest and the list: for asking before the work is done. */
assay_status as_sections_check(assay_env *env, const char *sections);

/* --- Charts: report/svg.c ------------------------------------------------------------------------------- */

/* Each returns a self-contained <svg> in the arena, "" when there is nothing finite to draw, NULL when there is no memory. */

/* Horizontal bars: share of time per layer. */
typedef struct as_bar {
    const char *label, *detail;
    double      value;
} as_bar;
const char *as_svg_bars(as_arena *arena, const as_bar *bars, int n, const char *unit, const char *title);
/* Distribution of samples: histogram on a log or linear axis with marks (median, interval, quantiles). */
typedef struct as_mark {
    double      x;
    const char *label;
} as_mark;
const char *as_svg_histogram(as_arena *arena, const double *x, size_t n, const char *unit, const as_mark *marks, int n_marks,
                             const char *title);
/* A line over time (samples in the order taken), thinned to what the eye can see: min and max per pixel. */
const char *as_svg_line(as_arena *arena, const double *x, const double *y, size_t n, const char *x_unit, const char *y_unit,
                        const char *title);
/* Buffers by lifetime: x is the step, y the offset.  Boxes of one tone share a colour, and `group` names it in the legend. */
typedef struct as_box {
    const char *label, *group;
    double      x0, x1, y0, y1;
    int         tone;
} as_box;
const char *as_svg_boxes(as_arena *arena, const as_box *boxes, int n, const char *x_label, const char *y_unit, const char *title);
/* A flame graph: frame i lies below the last one before it of a smaller depth, from `start` on; the page makes it zoom and search. */
typedef struct as_frame {
    const char *label, *detail;
    int         depth;
    double      start, value;
} as_frame;
const char *as_svg_flame(as_arena *arena, const as_frame *frames, int n, const char *unit, const char *title);
/* A graph from top to bottom, each node below all that it reads, with a bar for its value against the greatest; NaN: none. */
typedef struct as_vertex {
    const char *label, *detail;
    double      value;
    const int  *inputs;
    int         n_inputs;
} as_vertex; /* inputs: earlier vertices */
const char *as_svg_graph(as_arena *arena, const as_vertex *vertices, int n, const char *unit, const char *title);
/* A roofline, both axes logarithmic: each bandwidth is a band that rises to the work rate's, which is flat; a point a layer. */
typedef struct as_roof_band {
    const char *label;
    double      lo, hi;
} as_roof_band; /* byte/s; of `flat`, flop/s */
typedef struct as_roof_point {
    const char *label, *detail;
    double      intensity, rate, weight;
} as_roof_point; /* weight: share of time, for its size */
const char *as_svg_roofline(as_arena *arena, const as_roof_band *flat, const as_roof_band *slopes, int n_slopes,
                            const as_roof_point *points, int n, const char *title);
/* Values with their intervals, a row each, against a zero line; with a margin above 0 its band is drawn.  Values are shares: "ratio". */
typedef struct as_forest_row {
    const char *label, *detail, *words;
    double      value, lo, hi;
    as_level    level;
} as_forest_row; /* words: at the right end */
const char *as_svg_forest(as_arena *arena, const as_forest_row *rows, int n, double margin, const char *title);
/* Paired differences, a dot a round, beside their distribution; the estimate with its interval, and the margin. */
typedef struct as_duel_picture {
    const double *x, *y;
    size_t        n;
    double        estimate, lo, hi, margin;
    as_level      level;
} as_duel_picture;
const char *as_svg_duel(as_arena *arena, const as_duel_picture *d, const char *title);
/* What happened while it was measured: lanes one below the other over the same seconds, a dot a block; values far out are pinned to the edge. */
typedef struct as_lane_line {
    const char   *label;
    const double *x, *y;
    size_t        n;
    int           tone;
} as_lane_line;
typedef struct as_lane {
    const char  *label, *unit;
    as_lane_line lines[8];
    int          n_lines;
} as_lane;
const char *as_svg_noise(as_arena *arena, const as_lane *lanes, int n, const char *title);
/* Values in their order with intervals, the level of each segment, and where it changed. */
typedef struct as_step_mark {
    size_t      at;
    double      before, after;
    bool        went_away;
    const char *label;
} as_step_mark;
typedef struct as_history_picture {
    const double       *x, *y, *lo, *hi;
    size_t              n;
    const char *const  *labels;
    const char         *unit;
    const as_step_mark *marks;
    int                 n_marks;
} as_history_picture; /* x: seconds since 1970 */
const char *as_svg_history(as_arena *arena, const as_history_picture *h, const char *title);
/* Times over the first arm's, over the values of a sweep, both logarithmic, with bands; crossovers are marked with their range. */
typedef struct as_sweep_line {
    const char   *label;
    const double *x, *y, *lo, *hi;
    size_t        n;
} as_sweep_line;
typedef struct as_sweep_mark {
    double at, lo, hi;
} as_sweep_mark;
const char *as_svg_sweep(as_arena *arena, const as_sweep_line *lines, int n, const as_sweep_mark *marks, int n_marks,
                         const char *x_label, const char *title);
/* Safe as element content and as a quoted attribute: control characters removed, invalid UTF-8 replaced. */
const char *as_escape_html(as_arena *arena, const char *text);

#endif

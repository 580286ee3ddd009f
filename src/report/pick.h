/* pick.h - what sections share: picking facts by key into blocks, and columns of tables into charts.
 *
 * Facts may come from a file, so nothing is assumed: what is missing is left out, and a cell may be text or a metric. */
#ifndef AS_REPORT_PICK_H
#define AS_REPORT_PICK_H

#include "report/report.h"

/* Blocks; each adds nothing when it would be empty. */
void as_pick_facts(as_doc *d, const assay_facts *f, as_block_kind kind, const char *const *keys); /* NULL-terminated */
void as_pick_group(as_doc *d, const assay_facts *f, const char *group);                           /* all its facts */
void as_pick_table(as_doc *d, const assay_facts *f, const char *group, const char *key);
void as_pick_findings(as_doc *d, const assay_facts *f, const char *group);
void as_pick_notes(as_doc *d, const assay_facts *f, const char *const *prefixes); /* NULL-terminated */

/* The layers of a run: its steps, or sums by module if the document asks for that and modules are known.  Both have the columns
 * name, time, share, flops and bytes.  NULL: there are none; or no memory, and the document has failed. */
const as_table *as_pick_layers(as_doc *d, const assay_facts *f);

/* The sentences of a table with the columns "text" and "cites", of the rows whose `column` has this word (NULL: all), at this level. */
void as_pick_sentences(as_doc *d, const as_table *t, const char *column, const char *word, as_level level);
/* A table with a column "depth" as one without it, its names indented; NULL: no memory. */
const as_table *as_tree_indent(as_arena *arena, const as_table *t);

/* --- Charts: pick_chart.c ----------------------------------------------------------------------------------- */

/* A series of the facts as a series of a chart, with its source; nothing is copied. */
as_chart_series as_pick_series(const as_series *s);
/* "3.fma" of case 3; NULL: not there. */
const as_series *as_series_at(const assay_facts *f, const char *group, int i, const char *what);

/* Named points one by one, for charts that are made from tables.  All arrays belong to the document. */
typedef struct as_points {
    double        *y, *lo, *hi;
    const char   **names, **details, **words;
    as_chart_role *roles;
    size_t         n;
} as_points;
bool            as_points_take(as_doc *d, as_points *p, int room); /* false: no memory, and the document has failed */
void            as_points_sort(as_doc *d, as_points *p);           /* the largest first */
as_chart_series as_points_series(const as_points *p);

/* The charts of case i of a group with the series of analysis/duel/duel_facts.h: blocks and probes over time. */
void as_pick_noise(as_doc *d, const assay_facts *f, const char *group, int i, const char *name, bool extra);
/* The intervals of a table with the columns "case" and "change", and one word per row that decides its role. */
void as_pick_intervals(as_doc *d, const as_table *t, const char *group, const char *word, double margin, const char *caption);
/* The role of a verdict, status or word about noise: "slower" is bad, "unresolved" a warning. */
as_chart_role as_chart_role_of(const char *word);

#endif

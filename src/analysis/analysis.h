/* analysis.h - pure functions from a trace to facts.  One analysis per file: an_<name>.c.
 *
 * Facts are neutral: groups of keyed metrics, tables, series and findings.  A report knows nothing else.  They are written to
 * JSON ("assay.run/1") and read back without loss, so a report can be made from a trace or from a run JSON.
 *
 * Adding a metric without a kind, or with a value outside its own interval, fails with a message. */
#ifndef AS_ANALYSIS_ANALYSIS_H
#define AS_ANALYSIS_ANALYSIS_H

#include "base/arena.h"
#include "base/env.h"
#include "base/json.h"
#include "base/metric.h"
#include "trace/trace.h"

typedef struct as_fact {
    const char  *key, *label;
    assay_metric metric;
} as_fact; /* "latency.median", "median latency" */

/* A cell is text, or a metric when text is NULL. */
typedef struct as_cell {
    const char  *text;
    assay_metric metric;
} as_cell;
typedef struct as_column {
    const char *key, *label;
} as_column;
typedef struct as_table {
    const char *key, *label;
    as_column  *columns;
    int         n_columns;
    as_cell    *cells;
    int         n_rows, cap_rows; /* row-major */
} as_table;

/* Raw numbers for a chart: y over its index or over x. */
typedef struct as_series {
    const char *key, *label, *x_unit, *y_unit;
    assay_kind  kind;
    const char *source;
    double     *x, *y;
    size_t      n;
} as_series;

typedef enum as_level { AS_LEVEL_NOTE, AS_LEVEL_GOOD, AS_LEVEL_WARN, AS_LEVEL_BAD } as_level;
const char *as_level_text(as_level level); /* "warn" */
as_level    as_level_of(const char *text); /* NOTE for a word that is not a level */
typedef struct as_finding {
    as_level    level;
    const char *text;
} as_finding; /* a sentence with its numbers */

typedef struct as_fact_group {
    const char *key, *label; /* "latency" */
    as_fact    *facts;
    int         n_facts, cap_facts;
    as_table   *tables;
    int         n_tables, cap_tables;
    as_series  *series;
    int         n_series, cap_series;
    as_finding *findings;
    int         n_findings, cap_findings;
} as_fact_group;

typedef struct as_fact_note {
    const char *key, *value;
} as_fact_note;

/* The title in two parts: what ran; how and where it ran. */
#define AS_NOTE_NAME     "title.name"
#define AS_NOTE_SETTINGS "title.settings"

/* Whether other work took the CPU while it was measured; UNKNOWN also where nothing was. */
typedef enum as_machine_state { AS_MACHINE_UNKNOWN, AS_MACHINE_IDLE, AS_MACHINE_BUSY, AS_MACHINE_VERY_BUSY } as_machine_state;

#define AS_FACTS_SCHEMA "assay.run/1" /* of one run as JSON */

struct assay_facts {
    as_arena       arena;
    assay_env     *env;    /* of the call that fills it; only for the first failure */
    assay_status   status; /* the first failure sticks */
    const char    *title;  /* "mlp-small, batch 1, cpu" */
    as_fact_note  *notes;
    int            n_notes, cap_notes; /* model, machine, software, as in the trace */
    as_fact_group *groups;
    int            n_groups, cap_groups;
    assay_trace  **trials;
    size_t         n_trials; /* the verdicts' raw data, also in the JSON: every verdict can be computed again */
    bool           owns_trials, with_samples;
    assay_trace   *record; /* that they were computed from, where the caller gave it to them: owned; NULL: it did not */

    /* For the code that goes on with them in this process; files do not have these. */
    as_machine_state machine;  /* set by the analysis of contention */
    const char      *not_kept; /* why the store could not keep the run; NULL: it did, or was not asked to */
};

/* Adding: strings are copied (invalid UTF-8 becomes U+FFFD); the first failure sticks in facts->status and later calls do
 * nothing. Keys are unique: a second fact, table or series with the same key is refused; asking for a group again returns the
 * first; a second note replaces the first.  A group's pointer is valid until the next group is made, a table's until the next
 * table of its group; an older pointer is refused. */
assay_facts *as_facts_new(assay_env *env); /* NULL: no memory */
/* Ends the filling: *out gets the facts; after a failure they are freed and the first failure is returned. */
assay_status   as_facts_done(assay_facts *f, assay_facts **out);
as_fact_group *as_facts_group(assay_facts *f, const char *key, const char *label);
void           as_facts_add(assay_facts *f, as_fact_group *g, const char *key, const char *label, assay_metric metric);
/* columns: "key|label" each, NULL-terminated. */
as_table *as_facts_table(assay_facts *f, as_fact_group *g, const char *key, const char *label, const char *const *columns);
/* n_columns cells. */
void as_facts_row(assay_facts *f, as_table *t, const as_cell *cells);
void as_facts_series(assay_facts *f, as_fact_group *g, const as_series *series); /* copied; must have a kind and a source */
void as_facts_find(assay_facts *f, as_fact_group *g, as_level level, const char *format, ...) __attribute__((format(printf, 4, 5)));
void as_facts_note(assay_facts *f, const char *key, const char *value);

/* Borrows the trials for the life of the facts. */
void as_facts_trials(assay_facts *f, assay_trace *const *trials, size_t n, bool with_samples);

/* Looking up: NULL when not there. */
const as_fact_group *as_facts_group_find(const assay_facts *f, const char *key);
const assay_metric  *as_facts_metric(const assay_facts *f, const char *key); /* "latency.median" */
const as_table      *as_facts_table_find(const assay_facts *f, const char *group, const char *key);
const as_series     *as_facts_series_find(const assay_facts *f, const char *group, const char *key);
const char          *as_facts_note_find(const assay_facts *f, const char *key);

/* --- Folding by module: fold.c -------------------------------------------------------------------------------- */

#define AS_MODULE_NONE "(no module)" /* the row of the steps that belong to none */

int    as_module_depth(const char *path);             /* parts of "layer4.1.conv2": 3; of "": 0 */
size_t as_module_prefix(const char *path, int depth); /* length in bytes of its first `depth` parts; of the whole path when it has
                                                       * fewer */
/* Whether any row of a table with a column "module" names a module. */
bool as_modules_known(const as_table *steps);
/* Adds up the rows of such a table by the first `depth` parts of their modules, in order of appearance: name, time, share, flops,
 * bytes, steps.  Every row is in exactly one sum.  Depth 0: the smallest depth that gives several rows, none of which has most of
 * the time.  Lives in the arena; NULL: no memory. */
const as_table *as_fold_modules(as_arena *arena, const as_table *steps, int depth);

/* Reading a table, which may come from a file: a cell may be text or a metric, and a column may be missing. */
int            as_column_find(const as_table *t, const char *key);       /* -1: not there */
const as_cell *as_cell_at(const as_table *t, int row, int column);       /* NULL for column -1 */
const char    *as_cell_words(const as_cell *c);                          /* its text, or "" */
const char    *as_words_at(const as_table *t, int row, const char *key); /* the text of a column by name, or "" */
double         as_value_at(const as_table *t, int row, const char *key); /* its number, or NaN */
double         as_cell_value(const as_cell *c);                          /* its number, or NaN */
/* A metric that has a value, of the facts or of a table by the name of its column; NULL: there is none. */
const assay_metric *as_metric_find(const assay_facts *f, const char *key);
const assay_metric *as_metric_at(const as_table *t, int row, const char *key);

/* Fails with the message of the first metric that may not be shown; writers call it before they write a byte. */
assay_status as_facts_check(assay_env *env, const assay_facts *f);

/* JSON, "schema": "assay.run/1" (one) - the writer wr_json and the reader for `assay report run.json`. */
assay_status as_facts_write(assay_env *env, const assay_facts *f, as_json *w);
assay_status as_facts_parse(assay_env *env, const char *path, const char *data, size_t n, assay_facts **out);
/* One run ("assay.run/1") or several ("assay.runs/1"), at least one, in the order of the file: free *out with
 * assay_facts_free_all(). */
assay_status as_facts_parse_all(assay_env *env, const char *path, const char *data, size_t n, assay_facts ***out, size_t *n_out);
/* The interval as text, "99.9 to 100.1 us", with enough digits to tell its ends apart; "" when there is none. */
const char *as_show_interval(char *buf, size_t size, const assay_metric *m);
/* Keeps strings alive with the facts. */
const char *as_facts_keep(assay_facts *f, const char *text);

typedef struct as_analysis {
    const char *name;  /* "latency" */
    int         order; /* low runs first; a later one may look up what an earlier one added */
    unsigned    of;    /* 1 << as_trace_subject for each subject that it applies to; 0: networks alone */
    void (*run)(assay_facts *f, const assay_trace *t);
} as_analysis;

extern const as_analysis *const as_an_table[];

#endif

/* brief.h - the basic report: what a person reads first, as data.
 *
 * A brief is one screen: a title with the settings, a sentence, a few numbers, one or two short tables, what to try, whether to
 * trust it, and where to read more.  One file per kind of result (brief/br_<name>.c) fills it from facts; verbs without facts
 * fill one themselves.  The writer `basic` prints it in at most AS_BRIEF_LINES lines; the page shows it as its first screen. Like
 * a section it is independent of the format: no colour, no escapes, no width.  Everything is in its arena or in the facts, which
 * must outlive it. */
#ifndef AS_REPORT_BRIEF_H
#define AS_REPORT_BRIEF_H

#include "analysis/analysis.h"
#include "report/chart.h"

enum { AS_BRIEF_LINES = 25, AS_BRIEF_WIDTH = 80, AS_BRIEF_COLUMNS = 7 };

/* "Latency   47.5 ms   (46.9 to 48.2)   p95 51 ms": the first value is the one that matters. */
typedef struct as_brief_number {
    const char         *label;  /* one or two words: "Latency" */
    const char         *value;  /* "47.5 ms" */
    const char         *aside;  /* additional text: "(46.9 to 48.2)   p95 51 ms"; "" */
    const assay_metric *metric; /* the value's metric, for its tooltip; NULL: none */
    const as_chart     *chart;  /* a small picture of it for a page; NULL: none */
    bool                drawn;  /* the value is a picture in characters, for text only: a page has its own charts */
} as_brief_number;

typedef struct as_brief_row {
    const char   *cells[AS_BRIEF_COLUMNS]; /* as many as the table has columns */
    double        bar;                     /* its length, 0 to 1; NaN: none */
    double        used; /* the part of the bar that the limit explains, 0 to 1; the rest is headroom; NaN: unknown */
    as_chart_role role; /* MUTED: a sum of others; GOOD, WARN, BAD: a verdict */
} as_brief_row;

/* A table whose first column is a name; the other columns follow, numbers flush right. */
typedef struct as_brief_table {
    const char   *columns[AS_BRIEF_COLUMNS]; /* the first is also the table's caption: "Where the time goes" */
    bool          left[AS_BRIEF_COLUMNS];    /* words, flush left; the first always is */
    int           n_columns;
    bool          bars; /* a bar between the name and the numbers */
    as_brief_row *rows;
    int           n_rows, cap_rows;
    const char   *note; /* a line below the rows: "190 more: --report detailed"; NULL: none */
} as_brief_table;

/* Something to try: an estimate, not a proof. */
typedef struct as_brief_try {
    const char *what;    /* "--threads 2" */
    const char *why;     /* "one core is idle" */
    const char *effect;  /* "-35 %" */
    const char *command; /* the command that checks it; NULL: none */
} as_brief_try;

/* One check of whether to trust the numbers. */
typedef struct as_brief_check {
    as_level    level;
    const char *text; /* "machine idle" */
} as_brief_check;

typedef struct as_brief_hint {
    const char *option, *what;
} as_brief_hint; /* "--html FILE", "page" */

enum {
    AS_BRIEF_NUMBERS = 6,
    AS_BRIEF_TABLES = 3,
    AS_BRIEF_TRIES = 3,
    AS_BRIEF_CHECKS = 8,
    AS_BRIEF_HINTS = 4,
    AS_BRIEF_TEXTS = 10
};

typedef struct as_brief {
    as_arena        arena;
    bool            failed;    /* memory ran out */
    bool            by_module; /* add up layers by module, to this depth (0: one that fits); set before as_brief_make() */
    int             module_depth;
    const char     *title;    /* "resnet18.onnx" */
    const char     *settings; /* "batch 1 · CPU, 1 thread · Intel Xeon, 2 cores" */
    bool            dated;    /* the settings say when it was measured */
    as_level        level;    /* of the headline; NOTE: plain */
    const char     *headline; /* one sentence that says what matters; NULL: the numbers are enough, and only a page shows
                               * `summary` */
    const char     *summary;  /* the sentence for a page when there is no headline; NULL: none */
    as_brief_number numbers[AS_BRIEF_NUMBERS];
    int             n_numbers;
    as_brief_table  tables[AS_BRIEF_TABLES];
    int             n_tables;
    const char     *texts[AS_BRIEF_TEXTS]; /* paragraphs after the tables */
    int             n_texts;
    as_brief_try    tries[AS_BRIEF_TRIES];
    int             n_tries;
    const char     *trust; /* "Trustworthy"; NULL: nothing is said */
    as_brief_check  checks[AS_BRIEF_CHECKS];
    int             n_checks;
    as_brief_hint   hints[AS_BRIEF_HINTS];
    int             n_hints;
} as_brief;

/* --- Filling; what does not fit is left out, so add the most important first ----------------------------------- */

/* In the arena of the brief; "" when memory ran out. */
const char *as_brief_say(as_brief *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "47.5 ms"; "n/a" for a metric that is missing or has no value. */
const char *as_brief_value(as_brief *b, const assay_metric *m);
/* "(46.9 to 48.2)" in the unit of the value, with the unit where it differs; "" without an interval. */
const char *as_brief_interval(as_brief *b, const assay_metric *m);
/* "1.61 MiB weights + 1.61 MiB packed + 800 KiB working": the model's weights, the weights that kernels packed, and the rest of a
 * run's peak. */
const char *as_brief_memory(as_brief *b, double weights, double packed, double working);
/* "13 %", "0.4 %", "<0.1 %". */
const char     *as_brief_percent(as_brief *b, double share);
void            as_brief_number_add(as_brief *b, const char *label, const assay_metric *m, const char *value, const char *aside);
as_brief_table *as_brief_table_add(as_brief *b, const char *const *columns); /* NULL-terminated; NULL: no room */
/* Adds a row with its name; the caller fills the other cells.  Never NULL: if there is no space, returns a spare row that is not
 * shown. */
as_brief_row *as_brief_row_add(as_brief *b, as_brief_table *t, const char *name);
void          as_brief_text_add(as_brief *b, const char *text);
void          as_brief_try_add(as_brief *b, as_brief_try attempt);
void          as_brief_check_add(as_brief *b, as_level level, const char *text);
void          as_brief_hint_add(as_brief *b, const char *option, const char *what);
/* The worst level of its checks; NOTE (cannot tell) is worse than GOOD. */
as_level as_brief_trust_level(const as_brief *b);
/* "Trustworthy", "Cannot tell all", "Take care", "Do not trust" by that level, into b->trust. */
void as_brief_trust_make(as_brief *b);

/* --- Kinds ------------------------------------------------------------------------------------------------ */

typedef struct as_brief_kind {
    const char *name;
    int         order; /* the first that fits, by order, makes the brief */
    bool (*fits)(const assay_facts *f);
    void (*make)(as_brief *b, const assay_facts *f);
} as_brief_kind;
extern const as_brief_kind *const as_br_table[];

/* Makes the brief of some facts; false: no kind fits, or no memory (b->failed).  as_arena_drop(&b->arena) frees it. */
bool as_brief_make(as_brief *b, const assay_facts *f);

typedef struct as_brief_settings {
    bool colour;
    int  width;    /* 0: AS_BRIEF_WIDTH */
    bool one_line; /* the answer alone: the headline, or the first number; a brief without these is printed without hints */
} as_brief_settings;
/* As text; wr_basic.c.  false: no memory. */
bool as_brief_print(const as_brief *b, const as_brief_settings *s, FILE *file);

#endif

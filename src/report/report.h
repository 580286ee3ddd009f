/* report.h - facts -> sections -> one neutral document -> writers.
 *
 * A section (sec_<name>.c) picks facts and presents them: headings, paragraphs, metric lists, tables, charts.  A chart is data
 * (chart.h).  A writer (wr_<name>.c) turns the document into text or HTML and draws its charts, or not; wr_json writes the facts
 * themselves.  Sections know nothing about formats, and writers nothing about facts. */
#ifndef AS_REPORT_REPORT_H
#define AS_REPORT_REPORT_H

#include "analysis/analysis.h"
#include "report/chart.h"
#include "report/words.h"

typedef enum as_block_kind {
    AS_BLOCK_TITLE,
    AS_BLOCK_HEADING,
    AS_BLOCK_TEXT,
    AS_BLOCK_FACTS,
    AS_BLOCK_TABLE,
    AS_BLOCK_CHART,
    AS_BLOCK_FINDINGS,
    AS_BLOCK_KEYVALUES,
    AS_BLOCK_HERO,
    AS_BLOCK_PART,      /* a heading above headings: one of the report's parts */
    AS_BLOCK_SENTENCES, /* findings that name what they are made of */
    AS_BLOCK_TREE       /* a table with a column "depth": each row is below the last one that is less deep */
} as_block_kind;

/* A sentence, and the facts and rows that it is made of, by their keys: "latency.median layers.steps#3"; "-": none. */
typedef struct as_sentence {
    as_level    level;
    const char *text, *cites;
} as_sentence;

typedef struct as_block {
    as_block_kind              kind;
    const char                *key;  /* anchor of headings */
    const char                *text; /* title, heading, paragraph */
    const as_fact *const      *facts;
    int                        n_facts; /* FACTS and HERO (the few big numbers) */
    const as_table            *table;
    const as_table            *of; /* the facts' table that `table` shows in part or summed up; NULL: `table` is one itself */
    const as_finding          *findings;
    int                        n_findings;
    const as_sentence         *sentences;
    int                        n_sentences;
    const as_fact_note *const *pairs;
    int                        n_pairs; /* KEYVALUES */
    const as_chart            *chart;
    bool                       detail; /* left out of a brief text */
} as_block;

typedef struct as_doc {
    as_arena  arena;
    as_block *blocks;
    int       n_blocks, cap_blocks;
    bool      failed;    /* memory ran out */
    bool      detail;    /* what is added now is detail */
    bool      by_module; /* add up layers by module, to this depth (0: one that fits) */
    int       module_depth;
} as_doc;

void as_doc_add(as_doc *d, const as_block *block);
void as_doc_heading(as_doc *d, const char *key, const char *text);
/* The chart, its series, marks and links are copied; the numbers and texts that these point to are not.  An empty chart is left
 * out. */
void as_doc_chart(as_doc *d, const as_chart *chart);
void as_doc_text(as_doc *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes the document of some facts, which must outlive it, from the chosen sections (NULL: all).  *d must be empty except for
 * by_module.  false: no memory.  Nothing is drawn.  as_arena_drop(&d->arena) frees it. */
bool as_doc_make(as_doc *d, const assay_facts *f, const char *sections);

/* The parts of the report of one run, in this order but for the first, which is what a section belongs to that does not say. */
typedef enum as_part {
    AS_PART_PERFORMANCE,
    AS_PART_METADATA,
    AS_PART_EXECUTIVE,
    AS_PART_MEMORY,
    AS_PART_DEVICES,
    AS_PART_RECOMMENDATIONS,
    AS_PART_REGRESSION,
    AS_PART_APPENDIX,
    AS_PART_NONE, /* before all of them, without a heading */
    AS_N_PARTS
} as_part;

typedef struct as_section {
    const char *name;  /* "latency" */
    int         order; /* inside its part */
    void (*write)(as_doc *d, const assay_facts *f);
    bool    detail; /* all of it */
    as_part part;
} as_section;
extern const as_section *const as_sec_table[];

typedef struct as_write_settings {
    bool        colour;    /* text only */
    int         width;     /* text only; 0: 100 */
    bool        brief;     /* text only: without the details, which other formats always have */
    const char *sections;  /* "summary,layers": only these, in the report's own order; NULL: all.  JSON is always complete. */
    bool        by_module; /* add up layers by module, to this depth (0: one that fits); JSON and CSV always hold every step */
    int         module_depth;
    bool        one_line; /* the basic report: its answer alone (as_brief_settings) */
} as_write_settings;

typedef struct as_writer {
    const char *name, *suffix, *help; /* "html", ".html" */
    assay_status (*write)(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                          const as_write_settings *s, FILE *file);
} as_writer;
extern const as_writer *const as_wr_table[];

const as_writer *as_writer_find(const char *name);
/* Writes facts to `file` by way of documents and the writer; every metric is checked again.  An unknown section is refused by
 * name. */
assay_status as_report_write(assay_env *env, const assay_facts *const *facts, size_t n, const char *format,
                             const as_write_settings *s, FILE *file);
/* The same to a file that appears complete or not at all; settings NULL: the defaults. */
assay_status as_report_save(assay_env *env, const assay_facts *const *facts, size_t n, const char *format,
                            const as_write_settings *s, const char *path);
/* BAD_INPUT for a name that is not a section, with the nearest name and the list; to check before the work is done. */
assay_status as_sections_check(assay_env *env, const char *sections);

#endif

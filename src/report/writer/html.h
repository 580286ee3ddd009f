/* html.h - what the parts of the HTML writer share.
 *
 * The page is one self-contained file: no network, no font, no picture from elsewhere, one script and one style, which the
 * Content-Security-Policy allows by their hashes and nothing else.  Every text goes through as_page_put().  No attribute holds a style:
 * widths are classes, w0 to w100. */
#ifndef AS_REPORT_HTML_H
#define AS_REPORT_HTML_H

#include "report/brief.h"
#include "report/chart/draw.h"
#include "report/pick.h"

typedef struct as_page {
    FILE              *file;
    as_arena           arena;       /* of one block */
    size_t             run, n_runs; /* index and number of runs */
    const as_doc      *doc;         /* of this run, and its facts: what a sentence may link to */
    const assay_facts *facts;
    const as_block    *block;  /* that is written now */
    bool               failed; /* memory ran out */
} as_page;

/* page.css and page.js, written into the program by tools/embed. */
extern const char as_page_style[], as_page_script[];

/* --- Words and numbers: html_put.c ------------------------------------------------------------------------- */

void as_page_put(as_page *p, const char *text);        /* escaped */
void as_page_signs(as_page *p, const char *text);      /* the same for numbers in sentences: "744 us" is shown as 744 µs */
void as_page_id(as_page *p, const char *key);          /* letters, digits and '-' only; different in each run */
int  as_page_width(double share);                      /* 0 to 100: the number of its class */
void as_page_value(as_page *p, const assay_metric *m); /* the number, its unit a little smaller */
void as_page_kind(as_page *p, assay_kind kind);        /* its letter, shown when the reader turns on the origins of numbers */
/* Its origin as an attribute `title`: unit, kind, source, count and interval. */
void as_page_title(as_page *p, const assay_metric *m);
void as_page_origin(as_page *p, const assay_metric *m); /* the same as text below it, when the reader turns it on */

/* --- Parts ------------------------------------------------------------------------------------------------- */

void as_page_brief(as_page *p, const as_brief *b, const char *when, const char *first_section); /* the first screen: html_brief.c */
void as_page_table(as_page *p, const as_table *t, const as_table *of, const char *title);       /* html_table.c */

/* --- What sentences are made of: html_cite.c -------------------------------------------------------------------- */

enum { AS_CITED_ROWS = 300 }; /* rows of a table that can be linked to */
/* " id=..." of a fact where it is shown first on the page, so that each id is there once; nothing elsewhere. */
void as_page_fact_id(as_page *p, const as_block *b, const as_fact *f);
/* "layers-steps" of a table of the facts; NULL: it is none of them, or its rows are others. */
const char *as_page_table_key(as_page *p, const as_table *shown, const as_table *of);
void        as_page_cites(as_page *p, const char *cites);    /* links to what the page has of it, words for the rest */
void        as_page_tree(as_page *p, const as_block *block); /* rows by their depth, each a box that opens */

/* "sha256-..." of a text, as a policy names it, in the arena; html_policy.c.  NULL: no memory. */
const char *as_page_hash(as_arena *arena, const char *text);

#endif

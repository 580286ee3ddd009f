/* csv.h - private to data/: tables of numbers in text, read by row without holding them.
 *
 * One pass at the opening checks every cell and notes where each 16th row starts; after that any row is found by skipping at most 15. */
#ifndef AS_DATA_CSV_H
#define AS_DATA_CSV_H

#include "data/reader.h"

enum { AS_CSV_GROUP = 16, AS_CSV_MAX_COLUMNS = 65536 };

typedef struct as_csv {
    const as_data_file *file;
    const char         *what; /* "csv", "seq": begins messages */
    char                separator;
    bool                has_header;
    int64_t             n_columns;
    const char        **names; /* of columns; NULL: there is no header */
    uint64_t            start; /* of the first row */
    int64_t             start_line;
    int64_t             n_rows;
    uint64_t           *groups; /* n_groups + 1: where each begins, and the end */
    int64_t             n_groups;
} as_csv;

/* A cell: what is between two separators, without white space around it and without quotes.  Not NUL-terminated. */
typedef struct as_cell {
    const char *text;
    size_t      n;
    int64_t     at; /* byte of the line, from 1 */
} as_cell;

/* Finds separator, header and columns from the first line, by the keys sep and header of the spec. */
assay_status as_csv_begin(assay_env *env, as_source *source, const as_data_file *file, as_csv *out);
/* A column by its name or number from 0, -1 is the last; `key` is what named it. */
assay_status as_csv_column(assay_env *env, const as_csv *csv, const char *key, const char *name, int64_t *out);
/* What a column is called: its name in quotes, or its number.  Returns buf. */
const char *as_csv_column_name(const as_csv *csv, int64_t column, char *buf, size_t size);

/* Calls `visit` for every row and fills n_rows and groups, in the arena. */
typedef assay_status (*as_csv_visit)(assay_env *env, void *arg, int64_t row, int64_t line, const as_cell *cells);
assay_status as_csv_scan(assay_env *env, as_arena *arena, as_csv *csv, as_csv_visit visit, void *arg);
/* A failure at a cell: "data: csv: FILE:LINE:COLUMN: ...". */
assay_status as_csv_fail(assay_env *env, const as_csv *csv, int64_t line, const as_cell *cell, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The most bytes that `rows` consecutive rows can take with the rest of their groups. */
size_t as_csv_span_bytes(const as_csv *csv, int64_t rows);
/* Rows from `row` on: as_csv_seek() reads all bytes of `rows` of them, as_csv_next() gives one row's text after the other. */
typedef struct as_csv_cursor {
    const char *at, *end;
    char        separator;
} as_csv_cursor;
bool as_csv_seek(const as_csv *csv, int64_t row, int64_t rows, as_fetch *fetch, size_t scratch_at, as_csv_cursor *out);
bool as_csv_next(as_csv_cursor *cursor, const char **line, size_t *n);
/* The next cell of a line; false at its end.  *at is moved on; it starts at the line's beginning, and *begun at false. */
bool as_cell_next(const char *line, size_t n, char separator, size_t *at, bool *begun, as_cell *out);
/* A finite decimal number. */
bool as_cell_number(const as_cell *cell, double *out);

#endif

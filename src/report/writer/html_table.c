/* html_table.c - tables of the page: shows the few columns that matter, hides the others behind a toggle, and sorts the steps of
 * a run by time. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/writer/html.h"

enum { MANY_COLUMNS = 6, FEW_COLUMNS = 5, LONG_WORDS = 60, MAX_ORIGINS = 16 };

/* Where the numbers of a column come from; the heading says it for all of them. */
typedef struct column {
    const assay_metric *origins[MAX_ORIGINS]; /* the first of each */
    int                 n_origins;
    bool                numbers, hidden;
    double              whole; /* the value of a full bar; 0: no bars */
} column;

typedef struct sorted_row {
    int    row;
    double value;
} sorted_row;

static bool is_same(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

/* The index of its origin in the list of its column; n_origins: not in the list. */
static int origin_of(const column *c, const assay_metric *m)
{
    int i = 0;
    while (i < c->n_origins && !(m->kind == c->origins[i]->kind && is_same(m->unit, c->origins[i]->unit) &&
                                 is_same(m->source, c->origins[i]->source) && is_same(m->reason, c->origins[i]->reason)))
        i++;
    return i;
}

/* --- Which columns -------------------------------------------------------------------------------------------- */

/* Columns of any table in order of importance: the first of these that a table has stay visible. */
static int rank_of(const char *key)
{
    static const char *const order[] = {
        "state",   "severity", "evidence", "category",    "potential", "text",  "because", "command", "time",      "change",
        "verdict", "status",   "of_roof",  "recoverable", "share",     "bound", "a_time",  "b_time",  "flop_rate", "winner",
        "kernel",  "median",   "noise",    "bytes",       "role",      "first", "last",    "op",      "choice",    "lead",
        "when",    "commit",   "in_1s",    "in_5s",       "in_30s",    "why",   NULL};
    int i = 0;
    while (order[i] && strcmp(order[i], key))
        i++;
    return i;
}

/* Columns of long sentences are hidden first: they make every row very tall.  Some tables are there for their sentences. */
static bool is_wordy(const as_table *t, int c)
{
    static const char *const wanted[] = {"evidence", "text", "because", "command"};
    size_t                   sum = 0;
    for (size_t i = 0; i < AS_COUNT(wanted); i++)
        if (!strcmp(t->columns[c].key, wanted[i]))
            return false;
    for (int row = 0; row < t->n_rows; row++)
        sum += strlen(as_cell_words(as_cell_at(t, row, c)));
    return sum > (size_t)t->n_rows * LONG_WORDS;
}

/* Every value of the column is unavailable. */
static bool is_void(const as_table *t, int c)
{
    for (int row = 0; row < t->n_rows; row++) {
        const as_cell *cell = as_cell_at(t, row, c);
        if (cell->text || as_metric_has(&cell->metric))
            return false;
    }
    return true;
}

static void columns_hide(const as_table *t, column *columns)
{
    if (t->n_columns < MANY_COLUMNS) {
        for (int c = 1; c < t->n_columns && t->n_columns >= FEW_COLUMNS; c++)
            columns[c].hidden = is_wordy(t, c) && strcmp(t->columns[c].key, "why");
        return;
    }
    for (int c = 1; c < t->n_columns; c++)
        columns[c].hidden = true;
    for (int k = 1; k < FEW_COLUMNS; k++) {
        int best = -1;
        for (int c = 1; c < t->n_columns; c++)
            if (columns[c].hidden && !is_wordy(t, c) && !is_void(t, c) &&
                (best < 0 || rank_of(t->columns[c].key) < rank_of(t->columns[best].key)))
                best = c;
        if (best > 0)
            columns[best].hidden = false;
    }
}

/* Shares have bars, relative to 1, or to the largest where all are small. */
static double bars_whole(const as_table *t, int c)
{
    static const char *const shares[] = {"share", "share_of_time", "share_of_steps", "of_roof", "recoverable", "potential", NULL};
    double                   most = 0;
    int                      i = 0;
    while (shares[i] && strcmp(shares[i], t->columns[c].key))
        i++;
    for (int row = 0; shares[i] && row < t->n_rows; row++)
        most = fmax(most, as_cell_value(as_cell_at(t, row, c)));
    return most > .5 ? 1 : most;
}

static column *columns_make(as_page *p, const as_table *t)
{
    column *columns = AS_TAKE(&p->arena, column, t->n_columns);
    for (int c = 0; columns && c < t->n_columns; c++)
        for (int row = 0; row < t->n_rows; row++) {
            const as_cell *cell = as_cell_at(t, row, c);
            columns[c].numbers |= !cell->text;
            if (!cell->text && columns[c].n_origins < MAX_ORIGINS && origin_of(&columns[c], &cell->metric) == columns[c].n_origins)
                columns[c].origins[columns[c].n_origins++] = &cell->metric;
        }
    for (int c = 0; columns && c < t->n_columns; c++)
        columns[c].whole = bars_whole(t, c);
    if (columns)
        columns_hide(t, columns);
    return columns;
}

/* --- Which order ---------------------------------------------------------------------------------------------- */

static int longest_first(const void *a, const void *b)
{
    const sorted_row *x = a, *y = b;
    double            p = isfinite(x->value) ? x->value : -INFINITY, q = isfinite(y->value) ? y->value : -INFINITY;
    return p < q ? 1 : p > q ? -1 : x->row - y->row;
}

/* Steps of a run are sorted by time; every other table keeps its order. */
static sorted_row *rows_order(as_page *p, const as_table *t, bool *by_time)
{
    sorted_row *rows = AS_TAKE(&p->arena, sorted_row, t->n_rows + 1);
    int         time = as_column_find(t, "time");
    *by_time = t->n_rows > 1 && time > 0 && !as_column_find(t, "name");
    for (int i = 0; rows && i < t->n_rows; i++)
        rows[i] = (sorted_row){i, *by_time ? as_cell_value(as_cell_at(t, i, time)) : 0};
    if (rows && *by_time)
        qsort(rows, (size_t)t->n_rows, sizeof *rows, longest_first);
    return rows;
}

/* --- Cells ---------------------------------------------------------------------------------------------------- */

static void number_write(as_page *p, const assay_metric *m, const column *c)
{
    char number[AS_NUMBER_BYTES];
    bool has = as_metric_has(m), is_share = has && c->whole > 0 && m->value >= 0;
    int  origin = origin_of(c, m);
    fprintf(p->file, "<td class=\"n%s%s", c->hidden ? " x" : "", has ? "" : " na");
    if (is_share)
        fprintf(p->file, " p w%d", as_page_width(m->value / c->whole));
    fprintf(p->file, "\" data-v=\"%s\"", has ? as_number(number, m->value) : "");
    if (origin == c->n_origins) {
        as_page_title(p, m);
    } else {
        if (origin)
            fprintf(p->file, " data-s=\"%d\"", origin);
        if (has && m->n != c->origins[0]->n)
            fprintf(p->file, " data-n=\"%" PRIu64 "\"", m->n);
        if (has && m->lo < m->hi) {
            fputs(" data-i=\"", p->file);
            as_page_put(p, as_show_interval_signs(&p->arena, m));
            fputc('"', p->file);
        }
    }
    fputc('>', p->file);
    as_page_value(p, m);
    if (m->kind != c->origins[0]->kind)
        as_page_kind(p, m->kind);
    fputs("</td>", p->file);
}

/* A sentence gets enough width to stay short in height; if it repeats the row above, it is written once, and the script fills it
 * in. */
static void words_write(as_page *p, const char *text, const char *above, bool hidden)
{
    bool is_long = as_text_columns(text) > 28, same = is_long && above && !strcmp(text, above);
    if (hidden || is_long)
        fprintf(p->file, "<td class=\"%s%s%s\"%s>", hidden ? "x" : "", hidden && is_long ? " " : "", is_long ? "t" : "",
                same ? " data-same" : "");
    else
        fputs("<td>", p->file);
    as_page_put(p, same ? "as above" : text);
    fputs("</td>", p->file);
}

static void cites_write(as_page *p, const char *cites, bool hidden)
{
    fprintf(p->file, "<td class=\"%scites\">", hidden ? "x " : "");
    as_page_cites(p, cites);
    fputs("</td>", p->file);
}

static void head_write(as_page *p, const as_table *t, int c, const column *own, bool sorted)
{
    fprintf(p->file, "<th scope=\"col\" class=\"%s%s\"%s", own->numbers ? "n" : "", own->hidden ? " x" : "",
            sorted ? " aria-sort=\"descending\"" : "");
    for (int i = 0; i < own->n_origins; i++) {
        const assay_metric *m = own->origins[i];
        const char         *from = m->source ? "; source: " : m->reason ? "; reason: " : "";
        const char         *words = as_arena_printf(&p->arena, "%s%s%s", assay_kind_text(m->kind), from,
                                            m->source   ? m->source
                                                    : m->reason ? m->reason
                                                                : "");
        fprintf(p->file, " data-s%d=\"", i);
        as_page_put(p, words ? words : "");
        fprintf(p->file, "\" data-u%d=\"", i);
        as_page_put(p, m->unit);
        if (i) {
            fputc('"', p->file);
            continue;
        }
        fprintf(p->file, "\" data-n=\"%" PRIu64 "\" title=\"", m->n);
        as_page_put(p, words ? words : "");
        fputc('"', p->file);
    }
    fputc('>', p->file);
    as_page_put(p, t->columns[c].label);
    if (own->n_origins)
        as_page_kind(p, own->origins[0]->kind);
    fputs("</th>", p->file);
}

void as_page_table(as_page *p, const as_table *t, const as_table *of, const char *title)
{
    bool        by_time = false;
    const char *key = as_page_table_key(p, t, of);
    column     *columns = columns_make(p, t);
    sorted_row *rows = columns ? rows_order(p, t, &by_time) : NULL;
    if (!rows) {
        p->failed = true;
        return;
    }
    fputs("<div class=\"tb\">", p->file);
    if (title) {
        fputs("<h3>", p->file);
        as_page_put(p, title);
        fputs("</h3>", p->file);
    }
    fputs("<div class=\"scroll\"><table><thead><tr>", p->file);
    for (int c = 0; c < t->n_columns; c++)
        head_write(p, t, c, &columns[c], by_time && !strcmp(t->columns[c].key, "time"));
    fputs(by_time ? "<th scope=\"col\" class=\"n x\">order in the run</th></tr></thead>\n<tbody>\n" : "</tr></thead>\n<tbody>\n",
          p->file);
    for (int i = 0; i < t->n_rows; i++) {
        fputs("<tr", p->file);
        if (key && rows[i].row < AS_CITED_ROWS) {
            fputs(" id=\"", p->file);
            as_page_id(p, as_arena_printf(&p->arena, "t-%s-%d", key, rows[i].row));
            fputc('"', p->file);
        }
        fputc('>', p->file);
        for (int c = 0; c < t->n_columns; c++) {
            const as_cell *cell = as_cell_at(t, rows[i].row, c);
            if (cell->text && !strcmp(t->columns[c].key, "cites"))
                cites_write(p, cell->text, columns[c].hidden);
            else if (cell->text)
                words_write(p, cell->text, i ? as_cell_at(t, rows[i - 1].row, c)->text : NULL, columns[c].hidden);
            else
                number_write(p, &cell->metric, &columns[c]);
        }
        if (by_time)
            fprintf(p->file, "<td class=\"n x\" data-v=\"%d\">%d</td>", rows[i].row + 1, rows[i].row + 1);
        fputs("</tr>\n", p->file);
    }
    fputs("</tbody></table></div></div>\n", p->file);
}

/* wr_csv.c - every fact, every cell of every table and every point that no table holds as one row, for spreadsheets and data frames (docs/report-files.md).
 *
 * RFC 4180: commas, CRLF, quotes doubled.  A spreadsheet runs a cell that begins like a formula, and a name may come from any model file:
 * such a text gets an apostrophe in front.  A text with an apostrophe of its own gets one too, so taking the first away always gives
 * the text back.  Numbers are ours and are never touched: -5 stays a number. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/pick.h"

static const char header[] = "run,group,key,label,value,unit,kind,source,n,lo,hi,reason\r\n";

typedef struct sheet {
    FILE         *file;
    const as_doc *only; /* NULL: all; otherwise only what this document shows */
    size_t        run;
} sheet;

/* --- Fields ------------------------------------------------------------------------------------------------- */

/* The wide forms (U+FF1D = U+FF0B + U+FF0D - U+FF20 @) count as the narrow ones where the writing is wide.  A single dash is our
 * sign for "none". */
static bool is_guarded(const char *text)
{
    static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
    if (!strcmp(text, "-"))
        return false;
    for (size_t i = 0; i < AS_COUNT(wide); i++)
        if (!strncmp(text, wide[i], 3))
            return true;
    return *text && strchr("=+-@\t\r\n'", *text) != NULL;
}

/* Every field except the first of a row is preceded by a comma. */
static void text_put(const sheet *s, const char *text)
{
    bool   guarded, quoted;
    size_t n;
    text = text ? text : "";
    n = strlen(text);
    guarded = is_guarded(text);
    /* Some readers trim the spaces of bare fields. */
    quoted = guarded || strpbrk(text, ",\"\r\n") || (n && (text[0] == ' ' || text[n - 1] == ' '));
    fputc(',', s->file);
    if (!quoted) {
        fputs(text, s->file);
        return;
    }
    fputs(guarded ? "\"'" : "\"", s->file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', s->file);
        fputc(*text, s->file);
    }
    fputc('"', s->file);
}

static void number_put(const sheet *s, double value)
{
    char number[AS_NUMBER_BYTES];
    fprintf(s->file, ",%s", value - value == 0 ? as_number(number, value) : ""); /* what is not finite is empty */
}

/* --- Rows --------------------------------------------------------------------------------------------------- */

static void row_begin(const sheet *s, const char *group, const char *key, const char *label)
{
    fprintf(s->file, "%zu", s->run);
    text_put(s, group);
    text_put(s, key);
    text_put(s, label);
}

static void metric_row(const sheet *s, const char *group, const char *key, const char *label, const assay_metric *m)
{
    row_begin(s, group, key, label);
    number_put(s, m->value);
    text_put(s, m->unit);
    text_put(s, assay_kind_text(m->kind));
    text_put(s, m->source);
    fprintf(s->file, ",%" PRIu64, m->n);
    number_put(s, m->lo);
    number_put(s, m->hi);
    text_put(s, m->reason);
    fputs("\r\n", s->file);
}

static void text_row(const sheet *s, const char *group, const char *key, const char *label, const char *text)
{
    row_begin(s, group, key, label);
    text_put(s, text);
    fputs(",,text,,,,,\r\n", s->file);
}

/* Whether the chosen sections show this table, found by its address. */
static bool shows_fact(const sheet *s, const as_fact *fact)
{
    for (int i = 0; s->only && i < s->only->n_blocks; i++)
        for (int j = 0; j < s->only->blocks[i].n_facts; j++)
            if (s->only->blocks[i].facts[j] == fact)
                return true;
    return !s->only;
}

static bool shows_table(const sheet *s, const as_table *table)
{
    for (int i = 0; s->only && i < s->only->n_blocks; i++)
        if (s->only->blocks[i].table == table || s->only->blocks[i].of == table)
            return true;
    return !s->only;
}

/* The key of a cell is TABLE[ROW].COLUMN; its label begins with the row's name, which is its first cell. */
static assay_status table_rows(assay_env *env, const sheet *s, const as_fact_group *g, const as_table *t)
{
    as_arena arena = {0};
    for (int row = 0; row < t->n_rows; row++) {
        const char *name = as_cell_words(as_cell_at(t, row, 0));
        for (int c = 0; c < t->n_columns; c++) {
            const as_cell *cell = as_cell_at(t, row, c);
            const char    *key = as_arena_printf(&arena, "%s[%d].%s", t->key, row, t->columns[c].key);
            const char    *label = as_arena_printf(&arena, "%s%s%s", name, *name ? ": " : "", t->columns[c].label);
            if (!key || !label) {
                as_arena_drop(&arena);
                return as_fail(env, ASSAY_NO_MEMORY, "csv: not enough memory for row %d of table %s.%s", row, g->key, t->key);
            }
            if (cell->text)
                text_row(s, g->key, key, label, cell->text);
            else
                metric_row(s, g->key, key, label, &cell->metric);
        }
        as_arena_drop(&arena);
    }
    return ASSAY_OK;
}

/* --- Charts ------------------------------------------------------------------------------------------------- */

/* The numbers of a chart that no table holds, SERIES[POINT].x and .y: each series once, however many charts show it. */
static bool is_shown_before(const as_doc *d, int block, int series)
{
    const double *y = d->blocks[block].chart->series[series].y;
    for (int i = 0; i <= block; i++) {
        const as_chart *c = d->blocks[i].chart;
        for (int j = 0; c && !c->table && j < (i < block ? c->n_series : series); j++)
            if (c->series[j].y == y)
                return true;
    }
    return false;
}

static void point_row(const sheet *to, const as_chart *c, const as_chart_series *s, size_t i, const char *axis, assay_metric m)
{
    char        key[160], label[160];
    const char *name = as_point_name(s, i);
    snprintf(key, sizeof key, "%s[%zu].%s", s->key ? s->key : c->kind, i, axis);
    snprintf(label, sizeof label, "%s%s%s", s->label ? s->label : "", *name ? ": " : "", name);
    metric_row(to, c->group, key, label, &m);
}

static assay_status series_rows(assay_env *env, const sheet *to, const as_chart *c, const as_chart_series *s)
{
    const char *y_unit = c->y[s->lane].unit ? c->y[s->lane].unit : "1", *x_unit = c->x.unit ? c->x.unit : "1";
    if (s->kind == ASSAY_KIND_MISSING || !s->source)
        return as_fail(env, ASSAY_INTERNAL, "csv: chart \"%s\" has numbers without a kind or a source", c->title);
    for (size_t i = 0; i < s->n; i++) {
        assay_metric m = {.value = s->y[i],
                          .unit = y_unit,
                          .kind = s->kind,
                          .source = s->source,
                          .n = 1,
                          .lo = s->lo ? s->lo[i] : (double)NAN,
                          .hi = s->hi ? s->hi[i] : (double)NAN};
        if (s->x)
            point_row(to, c, s, i, "x",
                      (assay_metric){
                          .value = s->x[i], .unit = x_unit, .kind = s->kind, .source = s->source, .n = 1, .lo = NAN, .hi = NAN});
        point_row(to, c, s, i, "y", m);
    }
    return ASSAY_OK;
}

static assay_status chart_rows(assay_env *env, const sheet *to, const as_doc *d)
{
    for (int i = 0; i < d->n_blocks; i++) {
        const as_chart *c = d->blocks[i].chart;
        for (int j = 0; c && !c->table && j < c->n_series; j++)
            if (!is_shown_before(d, i, j))
                AS_TRY(series_rows(env, to, c, &c->series[j]));
    }
    return ASSAY_OK;
}

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    fputs(header, file);
    for (size_t i = 0; i < n; i++) {
        sheet to = {.file = file, .only = s->sections ? docs[i] : NULL, .run = i + 1};
        text_row(&to, "run", "run.title", "title", facts[i]->title);
        for (int j = 0; j < facts[i]->n_groups; j++) {
            const as_fact_group *g = &facts[i]->groups[j];
            for (int k = 0; k < g->n_facts; k++)
                if (shows_fact(&to, &g->facts[k]))
                    metric_row(&to, g->key, g->facts[k].key, g->facts[k].label, &g->facts[k].metric);
            for (int k = 0; k < g->n_tables; k++)
                if (shows_table(&to, &g->tables[k]))
                    AS_TRY(table_rows(env, &to, g, &g->tables[k]));
        }
        AS_TRY(chart_rows(env, &to, docs[i]));
    }
    return ASSAY_OK;
}

const as_writer as_wr_csv = {
    .name = "csv", .suffix = ".csv", .help = "one row per number, for spreadsheets (docs/report-files.md)", .write = write_doc};

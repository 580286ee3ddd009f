/* facts.c - adding to facts and looking up in them.
 *
 * Nothing gets into the facts that as_metric_ok() would not show. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/text.h"

assay_facts *as_facts_new(assay_env *env)
{
    assay_facts *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->env = env;
    f->title = "";
    return f;
}

void assay_facts_free(assay_facts *f)
{
    if (!f)
        return;
    for (size_t i = 0; f->owns_trials && i < f->n_trials; i++)
        assay_trace_free(f->trials[i]);
    assay_trace_free(f->record);
    as_arena_drop(&f->arena);
    free(f);
}

assay_status as_facts_done(assay_facts *f, assay_facts **out)
{
    assay_status status = f->status;
    if (status == ASSAY_OK)
        *out = f;
    else
        assay_facts_free(f);
    return status;
}

static void no_room(assay_facts *f, const char *what)
{
    if (f->status == ASSAY_OK)
        f->status = as_fail(f->env, ASSAY_NO_MEMORY, "facts: not enough memory for %s", what);
}

/* Makes room for one more by doubling; NULL: no memory.  The old array stays in the arena. */
static void *grow(assay_facts *f, void *items, int n, int *capacity, size_t bytes_each)
{
    if (n < *capacity)
        return items;
    int   more = *capacity ? *capacity * 2 : 8;
    void *grown = n < (1 << 29) ? as_arena_take(&f->arena, (size_t)more, bytes_each, alignof(max_align_t)) : NULL;
    if (!grown) {
        no_room(f, "more");
        return NULL;
    }
    if (n)
        memcpy(grown, items, (size_t)n * bytes_each);
    *capacity = more;
    return grown;
}

#define GROW(f, owner, items)                                                                                       \
    ((grown = grow((f), (owner)->items, (owner)->n_##items, &(owner)->cap_##items, sizeof *(owner)->items)) != NULL \
         ? ((owner)->items = grown, true)                                                                           \
         : false)

/* --- Strings ----------------------------------------------------------------------------------------- */

/* Replaces what JSON cannot represent, once, so that facts from a trace equal the same facts read from their JSON. */
const char *as_facts_keep(assay_facts *f, const char *text)
{
    if (!text || f->status != ASSAY_OK)
        return NULL;
    size_t n = strlen(text);
    if (as_utf8_ok(text, n)) {
        const char *copy = as_arena_text_n(&f->arena, text, n);
        if (!copy)
            no_room(f, "a string");
        return copy;
    }
    char *clean = n < SIZE_MAX / 3 ? as_arena_take(&f->arena, n * 3 + 1, 1, 1) : NULL;
    if (!clean) {
        no_room(f, "a string");
        return NULL;
    }
    char *to = clean;
    for (size_t i = 0; i < n;) {
        size_t length = as_utf8_length(text + i, n - i);
        memcpy(to, length ? text + i : "\xef\xbf\xbd", length ? length : 3);
        to += length ? length : 3;
        i += length ? length : 1;
    }
    return clean;
}

/* A key that can be a JSON key: there, and not empty. */
static const char *keep_key(assay_facts *f, const char *what, const char *key)
{
    if (f->status == ASSAY_OK && (!key || !*key))
        f->status = as_fail(f->env, ASSAY_INTERNAL, "facts: a %s without a key", what);
    return as_facts_keep(f, key);
}

static const char *keep_label(assay_facts *f, const char *label, const char *key) { return as_facts_keep(f, label ? label : key); }

/* --- Metrics ----------------------------------------------------------------------------------------- */

static assay_status refuse(assay_env *env, const char *key, const char *why)
{
    return as_fail(env, ASSAY_INTERNAL, "facts: %s: metric: %s", key, why);
}

static bool metric_keep(assay_facts *f, const char *key, assay_metric *m)
{
    const char *why;
    if (!as_metric_ok(m, &why)) {
        f->status = refuse(f->env, key, why);
        return false;
    }
    m->value += 0.0, m->lo += 0.0, m->hi += 0.0; /* no -0: JSON's "-0" reads back as an integer without a sign */
    m->unit = as_facts_keep(f, m->unit);
    m->source = as_facts_keep(f, m->source);
    m->reason = as_facts_keep(f, m->reason);
    return f->status == ASSAY_OK;
}

/* --- Groups ------------------------------------------------------------------------------------------ */

static as_fact_group *group_of(const assay_facts *f, const char *key)
{
    for (int i = 0; i < f->n_groups; i++)
        if (!strcmp(f->groups[i].key, key))
            return &f->groups[i];
    return NULL;
}

as_fact_group *as_facts_group(assay_facts *f, const char *key, const char *label)
{
    void       *grown;
    const char *kept = keep_key(f, "group", key);
    if (!kept)
        return NULL;
    as_fact_group *g = group_of(f, kept);
    if (g)
        return g;
    label = keep_label(f, label, key);
    if (!label || !GROW(f, f, groups))
        return NULL;
    g = &f->groups[f->n_groups++];
    *g = (as_fact_group){.key = kept, .label = label};
    return g;
}

/* Arrays move when they grow: what is written through an old pointer would be lost. */
static bool is_current(assay_facts *f, const as_fact_group *g, const char *what, const char *key)
{
    if (f->status != ASSAY_OK || !g)
        return false;
    for (int i = 0; i < f->n_groups; i++)
        if (g == &f->groups[i])
            return true;
    f->status = as_fail(f->env, ASSAY_INTERNAL, "facts: %s %s is added to a group that has moved", what, key ? key : "?");
    return false;
}

static bool taken(assay_facts *f, const char *what, const char *key)
{
    f->status = as_fail(f->env, ASSAY_INTERNAL, "facts: %s %s is added twice", what, key);
    return false;
}

void as_facts_add(assay_facts *f, as_fact_group *g, const char *key, const char *label, assay_metric metric)
{
    void *grown;
    if (!is_current(f, g, "fact", key))
        return;
    as_fact fact = {.key = keep_key(f, "fact", key), .metric = metric};
    if (!fact.key)
        return;
    if (as_facts_metric(f, fact.key)) {
        taken(f, "fact", fact.key);
        return;
    }
    fact.label = keep_label(f, label, key);
    if (fact.label && metric_keep(f, fact.key, &fact.metric) && GROW(f, g, facts))
        g->facts[g->n_facts++] = fact;
}

/* --- Tables ------------------------------------------------------------------------------------------ */

static bool column_keep(assay_facts *f, const char *text, as_column *out)
{
    const char *bar = strchr(text, '|');
    char       *key = bar ? as_arena_text_n(&f->arena, text, (size_t)(bar - text)) : NULL;
    if (bar && !key)
        no_room(f, "a column");
    out->key = keep_key(f, "column", bar ? key : text);
    out->label = as_facts_keep(f, bar ? bar + 1 : text);
    return f->status == ASSAY_OK;
}

as_table *as_facts_table(assay_facts *f, as_fact_group *g, const char *key, const char *label, const char *const *columns)
{
    void *grown;
    if (!is_current(f, g, "table", key))
        return NULL;
    as_table t = {.key = keep_key(f, "table", key)};
    if (!t.key)
        return NULL;
    for (int i = 0; i < g->n_tables; i++)
        if (!strcmp(g->tables[i].key, t.key)) {
            taken(f, "table", t.key);
            return NULL;
        }
    t.label = keep_label(f, label, key);
    while (columns[t.n_columns])
        t.n_columns++;
    t.columns = AS_TAKE(&f->arena, as_column, t.n_columns);
    if (!t.columns) {
        no_room(f, "columns");
        return NULL;
    }
    for (int i = 0; i < t.n_columns; i++)
        if (!column_keep(f, columns[i], &t.columns[i]))
            return NULL;
    if (f->status != ASSAY_OK || !GROW(f, g, tables))
        return NULL;
    g->tables[g->n_tables++] = t;
    return &g->tables[g->n_tables - 1];
}

static bool table_is_current(assay_facts *f, const as_table *t)
{
    for (int i = 0; i < f->n_groups; i++)
        for (int j = 0; j < f->groups[i].n_tables; j++)
            if (t == &f->groups[i].tables[j])
                return true;
    f->status = as_fail(f->env, ASSAY_INTERNAL, "facts: a row is added to a table that has moved");
    return false;
}

static const char *cell_name(char *buf, size_t size, const as_table *t, int row, int column)
{
    snprintf(buf, size, "%s, row %d, column %s", t->key, row + 1, t->columns[column].key);
    return buf;
}

static bool cell_keep(assay_facts *f, const as_table *t, int column, as_cell *cell)
{
    if (cell->text) {
        cell->text = as_facts_keep(f, cell->text);
        return cell->text != NULL;
    }
    char where[256];
    return metric_keep(f, cell_name(where, sizeof where, t, t->n_rows, column), &cell->metric);
}

void as_facts_row(assay_facts *f, as_table *t, const as_cell *cells)
{
    if (f->status != ASSAY_OK || !t || !table_is_current(f, t))
        return;
    if (t->n_rows == t->cap_rows) {
        int      more = t->cap_rows ? t->cap_rows * 2 : 16;
        as_cell *grown = t->n_rows < (1 << 28)
                             ? as_arena_take(&f->arena, (size_t)more, (size_t)t->n_columns * sizeof *grown, alignof(as_cell))
                             : NULL;
        if (!grown) {
            no_room(f, "rows");
            return;
        }
        if (t->n_rows)
            memcpy(grown, t->cells, (size_t)t->n_rows * (size_t)t->n_columns * sizeof *grown);
        t->cells = grown;
        t->cap_rows = more;
    }
    as_cell *row = t->cells + (size_t)t->n_rows * (size_t)t->n_columns;
    for (int i = 0; i < t->n_columns; i++) {
        row[i] = cells[i];
        if (!cell_keep(f, t, i, &row[i]))
            return;
    }
    t->n_rows++;
}

/* --- Series, findings, notes -------------------------------------------------------------------------- */

static double *numbers_keep(assay_facts *f, const char *key, const double *x, size_t n)
{
    double *copy = AS_TAKE(&f->arena, double, n);
    if (!copy) {
        no_room(f, "a series");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (isinf(x[i])) {
            f->status = as_fail(f->env, ASSAY_INTERNAL, "facts: series %s: value %zu of %zu is infinite", key, i + 1, n);
            return NULL;
        }
        copy[i] = x[i] + 0.0; /* no -0, as above */
    }
    return copy;
}

void as_facts_series(assay_facts *f, as_fact_group *g, const as_series *series)
{
    void     *grown;
    as_series s = *series;
    if (!is_current(f, g, "series", s.key))
        return;
    s.key = keep_key(f, "series", s.key);
    if (!s.key)
        return;
    for (int i = 0; i < g->n_series; i++)
        if (!strcmp(g->series[i].key, s.key)) {
            taken(f, "series", s.key);
            return;
        }
    if ((unsigned)s.kind > ASSAY_UNAVAILABLE || s.kind == ASSAY_KIND_MISSING || s.kind == ASSAY_UNAVAILABLE) {
        f->status = as_fail(f->env, ASSAY_INTERNAL, "facts: series %s has no kind", s.key);
        return;
    }
    if (!s.source || !*s.source || !s.y_unit || !*s.y_unit) {
        f->status = as_fail(f->env, ASSAY_INTERNAL, "facts: series %s has no %s", s.key, s.y_unit && *s.y_unit ? "source" : "unit");
        return;
    }
    s.label = keep_label(f, s.label, s.key);
    s.x_unit = as_facts_keep(f, s.x_unit);
    s.y_unit = as_facts_keep(f, s.y_unit);
    s.source = as_facts_keep(f, s.source);
    s.x = s.x ? numbers_keep(f, s.key, s.x, s.n) : NULL;
    s.y = f->status == ASSAY_OK ? numbers_keep(f, s.key, s.y, s.n) : NULL;
    if (f->status == ASSAY_OK && GROW(f, g, series))
        g->series[g->n_series++] = s;
}

void as_facts_find(assay_facts *f, as_fact_group *g, as_level level, const char *format, ...)
{
    void *grown;
    if (!is_current(f, g, "finding", format))
        return;
    char    small[512];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    const char *kept = NULL;
    if (length >= 0 && (size_t)length < sizeof small) {
        kept = as_facts_keep(f, small);
    } else if (length >= 0) {
        char *whole = as_arena_take(&f->arena, (size_t)length + 1, 1, 1);
        if (whole)
            vsnprintf(whole, (size_t)length + 1, format, again);
        kept = as_facts_keep(f, whole);
    }
    va_end(again);
    if (!kept)
        no_room(f, "a finding");
    else if (GROW(f, g, findings))
        g->findings[g->n_findings++] = (as_finding){level, kept};
}

void as_facts_note(assay_facts *f, const char *key, const char *value)
{
    void        *grown;
    as_fact_note note = {keep_key(f, "note", key), as_facts_keep(f, value ? value : "")};
    if (!note.key || !note.value)
        return;
    for (int i = 0; i < f->n_notes; i++)
        if (!strcmp(f->notes[i].key, note.key)) {
            f->notes[i].value = note.value;
            return;
        }
    if (GROW(f, f, notes))
        f->notes[f->n_notes++] = note;
}

/* --- Looking up --------------------------------------------------------------------------------------- */

const as_fact_group *as_facts_group_find(const assay_facts *f, const char *key) { return group_of(f, key); }

const assay_metric *as_facts_metric(const assay_facts *f, const char *key)
{
    for (int i = 0; i < f->n_groups; i++)
        for (int j = 0; j < f->groups[i].n_facts; j++)
            if (!strcmp(f->groups[i].facts[j].key, key))
                return &f->groups[i].facts[j].metric;
    return NULL;
}

const as_table *as_facts_table_find(const assay_facts *f, const char *group, const char *key)
{
    const as_fact_group *g = group_of(f, group);
    for (int i = 0; g && i < g->n_tables; i++)
        if (!strcmp(g->tables[i].key, key))
            return &g->tables[i];
    return NULL;
}

const as_series *as_facts_series_find(const assay_facts *f, const char *group, const char *key)
{
    const as_fact_group *g = group_of(f, group);
    for (int i = 0; g && i < g->n_series; i++)
        if (!strcmp(g->series[i].key, key))
            return &g->series[i];
    return NULL;
}

const char *as_facts_note_find(const assay_facts *f, const char *key)
{
    for (int i = 0; i < f->n_notes; i++)
        if (!strcmp(f->notes[i].key, key))
            return f->notes[i].value;
    return NULL;
}

/* --- Checking ----------------------------------------------------------------------------------------- */

static assay_status table_check(assay_env *env, const as_table *t)
{
    const char    *why;
    char           where[256];
    const as_cell *cell = t->cells;
    for (int row = 0; row < t->n_rows; row++)
        for (int column = 0; column < t->n_columns; column++, cell++)
            if (!cell->text && !as_metric_ok(&cell->metric, &why))
                return refuse(env, cell_name(where, sizeof where, t, row, column), why);
    return ASSAY_OK;
}

assay_status as_facts_check(assay_env *env, const assay_facts *f)
{
    const char *why;
    if (f->status != ASSAY_OK)
        return f->env == env ? f->status
                             : as_fail(env, f->status, "facts: incomplete: %s",
                                       f->env ? assay_message(f->env) : assay_status_text(f->status));
    for (int i = 0; i < f->n_groups; i++) {
        const as_fact_group *g = &f->groups[i];
        for (int j = 0; j < g->n_facts; j++)
            if (!as_metric_ok(&g->facts[j].metric, &why))
                return refuse(env, g->facts[j].key, why);
        for (int j = 0; j < g->n_tables; j++)
            AS_TRY(table_check(env, &g->tables[j]));
        for (int j = 0; j < g->n_series; j++)
            if (g->series[j].kind == ASSAY_KIND_MISSING || !g->series[j].source)
                return as_fail(env, ASSAY_INTERNAL, "facts: series %s has no kind or no source", g->series[j].key);
    }
    return ASSAY_OK;
}

void as_facts_trials(assay_facts *f, assay_trace *const *trials, size_t n, bool with_samples)
{
    f->trials = AS_TAKE(&f->arena, assay_trace *, n);
    if (!f->trials) {
        no_room(f, "trials");
        return;
    }
    memcpy(f->trials, trials, n * sizeof *trials);
    f->n_trials = n;
    f->with_samples = with_samples;
}

/* --- Reading tables ------------------------------------------------------------------------------------------- */

int as_column_find(const as_table *t, const char *key)
{
    for (int i = 0; i < t->n_columns; i++)
        if (!strcmp(t->columns[i].key, key))
            return i;
    return -1;
}

const as_cell *as_cell_at(const as_table *t, int row, int column)
{
    return column < 0 ? NULL : &t->cells[(size_t)row * (size_t)t->n_columns + (size_t)column];
}

const char *as_cell_words(const as_cell *c) { return c && c->text ? c->text : ""; }

double as_cell_value(const as_cell *c) { return c && !c->text && as_metric_has(&c->metric) ? c->metric.value : (double)NAN; }

const char *as_words_at(const as_table *t, int row, const char *key)
{
    return as_cell_words(as_cell_at(t, row, as_column_find(t, key)));
}

double as_value_at(const as_table *t, int row, const char *key)
{
    return as_cell_value(as_cell_at(t, row, as_column_find(t, key)));
}

const assay_metric *as_metric_find(const assay_facts *f, const char *key)
{
    const assay_metric *m = as_facts_metric(f, key);
    return m && as_metric_has(m) ? m : NULL;
}

const assay_metric *as_metric_at(const as_table *t, int row, const char *key)
{
    const as_cell *c = as_cell_at(t, row, as_column_find(t, key));
    return c && !c->text && as_metric_has(&c->metric) ? &c->metric : NULL;
}

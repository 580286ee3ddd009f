/* facts_json.c - facts to JSON ("assay.run/1", docs/run-json.md) and back, without loss.
 *
 * The reader is strict: the schema has a version, so an unknown key is an error. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/trace/profile_keys.h"
#include "trace/trace_json.h"

#define SCHEMA     AS_FACTS_SCHEMA
#define SCHEMA_ALL "assay.runs/1"

/* Far above any real run; a limit is needed because facts and notes are found by linear search. */
enum { MAX_GROUPS = 256, MAX_FACTS = 8192, MAX_NOTES = 8192, MAX_COLUMNS = 256, MAX_RUNS = 4096, MAX_TRIALS = 4096 };

static const char *const level_names[] = {
    [AS_LEVEL_NOTE] = "note", [AS_LEVEL_GOOD] = "good", [AS_LEVEL_WARN] = "warn", [AS_LEVEL_BAD] = "bad"};

const char *as_level_text(as_level level) { return level_names[level]; }

as_level as_level_of(const char *text)
{
    for (size_t i = 0; i < AS_COUNT(level_names); i++)
        if (!strcmp(level_names[i], text))
            return (as_level)i;
    return AS_LEVEL_NOTE;
}

/* --- Writing ------------------------------------------------------------------------------------------ */

static void table_write(const as_table *t, as_json *w)
{
    as_json_key(w, t->key);
    as_json_object(w);
    as_json_key_text(w, "label", t->label);
    as_json_key(w, "columns");
    as_json_array(w);
    for (int i = 0; i < t->n_columns; i++) {
        as_json_object(w);
        as_json_key_text(w, "key", t->columns[i].key);
        as_json_key_text(w, "label", t->columns[i].label);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_key(w, "rows");
    as_json_array(w);
    const as_cell *cell = t->cells;
    for (int row = 0; row < t->n_rows; row++) {
        as_json_array(w);
        for (int i = 0; i < t->n_columns; i++, cell++) {
            if (cell->text)
                as_json_text(w, cell->text);
            else
                as_json_metric(w, &cell->metric);
        }
        as_json_array_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static void numbers_write(as_json *w, const char *key, const double *x, size_t n)
{
    as_json_key(w, key);
    if (!x) {
        as_json_null(w);
        return;
    }
    as_json_array(w);
    for (size_t i = 0; i < n; i++)
        as_json_f64(w, x[i]);
    as_json_array_end(w);
}

static void series_write(const as_series *s, as_json *w)
{
    as_json_key(w, s->key);
    as_json_object(w);
    as_json_key_text(w, "label", s->label);
    as_json_key_text(w, "kind", assay_kind_text(s->kind));
    as_json_key_text(w, "source", s->source);
    as_json_key_text(w, "x_unit", s->x_unit);
    as_json_key_text(w, "y_unit", s->y_unit);
    numbers_write(w, "x", s->x, s->n);
    numbers_write(w, "y", s->y, s->n);
    as_json_object_end(w);
}

static void group_write(const as_fact_group *g, as_json *w)
{
    as_json_key(w, g->key);
    as_json_object(w);
    as_json_key_text(w, "label", g->label);
    as_json_key(w, "facts");
    as_json_object(w);
    for (int i = 0; i < g->n_facts; i++) {
        as_json_key(w, g->facts[i].key);
        as_json_object(w);
        as_json_key_text(w, "label", g->facts[i].label);
        as_json_key(w, "metric");
        as_json_metric(w, &g->facts[i].metric);
        as_json_object_end(w);
    }
    as_json_object_end(w);
    as_json_key(w, "tables");
    as_json_object(w);
    for (int i = 0; i < g->n_tables; i++)
        table_write(&g->tables[i], w);
    as_json_object_end(w);
    as_json_key(w, "series");
    as_json_object(w);
    for (int i = 0; i < g->n_series; i++)
        series_write(&g->series[i], w);
    as_json_object_end(w);
    as_json_key(w, "findings");
    as_json_array(w);
    for (int i = 0; i < g->n_findings; i++) {
        as_json_object(w);
        as_json_key_text(w, "level", level_names[g->findings[i].level]);
        as_json_key_text(w, "text", g->findings[i].text);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

/* "profile": {"compute": {"tflops": metric}}: the groups "profile.*" once more, by the names and the nesting that profiling guides use. */
static void profile_write(const assay_facts *f, as_json *w)
{
    const size_t n = strlen(AS_PROFILE_PREFIX);
    bool         begun = false;
    for (int i = 0; i < f->n_groups; i++) {
        const as_fact_group *g = &f->groups[i];
        if (strncmp(g->key, AS_PROFILE_PREFIX, n))
            continue;
        if (!begun) {
            as_json_key(w, "profile");
            as_json_object(w);
        }
        begun = true;
        as_json_key(w, g->key + n);
        as_json_object(w);
        for (int k = 0; k < g->n_facts; k++) {
            const char *dot = strrchr(g->facts[k].key, '.');
            as_json_key(w, dot ? dot + 1 : g->facts[k].key);
            as_json_metric(w, &g->facts[k].metric);
        }
        as_json_object_end(w);
    }
    if (begun)
        as_json_object_end(w);
}

assay_status as_facts_write(assay_env *env, const assay_facts *f, as_json *w)
{
    AS_TRY(as_facts_check(env, f)); /* before the first byte, so that no half document is written */
    as_json_object(w);
    as_json_key_text(w, "schema", SCHEMA);
    as_json_key_text(w, "title", f->title);
    as_json_key(w, "notes");
    as_json_object(w);
    for (int i = 0; i < f->n_notes; i++)
        as_json_key_text(w, f->notes[i].key, f->notes[i].value);
    as_json_object_end(w);
    as_json_key(w, "groups");
    as_json_object(w);
    for (int i = 0; i < f->n_groups; i++)
        group_write(&f->groups[i], w);
    as_json_object_end(w);
    profile_write(f, w);
    if (f->n_trials) {
        as_json_key(w, "trials");
        as_json_array(w);
        for (size_t i = 0; i < f->n_trials; i++)
            as_trace_json_write(f->trials[i], w, f->with_samples);
        as_json_array_end(w);
    }
    as_json_object_end(w);
    return ASSAY_OK;
}

/* --- Reading ------------------------------------------------------------------------------------------ */

/* Where the reader is, for its messages: `place` grows and shrinks as it goes down and up. */
typedef struct reader {
    assay_env   *env;
    const char  *path;
    assay_facts *facts;
    int          n_facts;
    size_t       length;
    char         place[512];
} reader;

static assay_status complain(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static assay_status complain(reader *r, const char *format, ...)
{
    char    text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return as_fail(r->env, ASSAY_BAD_INPUT, "run JSON: %s: %s: %s", r->path, r->length ? r->place : "top level", text);
}

/* Goes down to a part and returns the length to go back to.  A place that is too long is cut; this affects only the message. */
static size_t go_down(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static size_t go_down(reader *r, const char *format, ...)
{
    size_t  before = r->length;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(r->place + r->length, sizeof r->place - r->length, format, args);
    va_end(args);
    if (n > 0)
        r->length = r->length + (size_t)n < sizeof r->place ? r->length + (size_t)n : sizeof r->place - 1;
    return before;
}

static void go_up(reader *r, size_t length)
{
    r->length = length;
    r->place[length] = 0;
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {"an object", "an array", "a string", "an integer", "a real", "true", "false", "null"};
    return value ? names[json_typeof(value)] : "missing";
}

/* Only the keys of the list, ended by NULL. */
static assay_status keys_check(reader *r, json_t *object, const char *const *keys)
{
    const char *key;
    json_t     *value;
    if (!json_is_object(object))
        return complain(r, "expected an object, found %s", type_name(object));
    json_object_foreach(object, key, value)
    {
        bool known = false;
        for (const char *const *k = keys; *k && !known; k++)
            known = !strcmp(*k, key);
        if (!known)
            return complain(r, "unknown key \"%s\"; this reader knows %s", key, SCHEMA);
    }
    return ASSAY_OK;
}

static assay_status text_read(reader *r, json_t *object, const char *key, bool may_be_null, const char **out)
{
    json_t *value = json_object_get(object, key);
    if (may_be_null && json_is_null(value)) {
        *out = NULL;
        return ASSAY_OK;
    }
    if (!json_is_string(value))
        return complain(r, "\"%s\": expected a string, found %s", key, type_name(value));
    *out = json_string_value(value);
    return ASSAY_OK;
}

/* A number, or NaN for null. */
static assay_status number_read(reader *r, json_t *object, const char *key, double *out)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_number(value) && !json_is_null(value))
        return complain(r, "\"%s\": expected a number or null, found %s", key, type_name(value));
    *out = json_is_null(value) ? (double)NAN : json_number_value(value);
    return ASSAY_OK;
}

/* Counts above INT64_MAX are written as reals. */
static assay_status count_read(reader *r, json_t *object, const char *key, uint64_t *out)
{
    json_t *value = json_object_get(object, key);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *out = (uint64_t)json_integer_value(value);
    else if (json_is_real(value) && json_real_value(value) >= 0x1p63 && json_real_value(value) <= 0x1p64)
        *out = json_real_value(value) == 0x1p64 ? UINT64_MAX : (uint64_t)json_real_value(value);
    else
        return complain(r, "\"%s\": expected a count, found %s", key,
                        json_is_integer(value) ? "a negative number" : type_name(value));
    return ASSAY_OK;
}

static assay_status kind_read(reader *r, json_t *object, assay_kind *out)
{
    const char *name;
    AS_TRY(text_read(r, object, "kind", false, &name));
    for (assay_kind k = ASSAY_MEASURED; k <= ASSAY_UNAVAILABLE; k++)
        if (!strcmp(name, assay_kind_text(k))) {
            *out = k;
            return ASSAY_OK;
        }
    return complain(r, "\"kind\": \"%s\" is not one of measured, counted, derived, modelled, unavailable", name);
}

static assay_status metric_read(reader *r, json_t *object, assay_metric *out)
{
    static const char *const keys[] = {"value", "unit", "kind", "source", "n", "lo", "hi", "reason", NULL};
    assay_metric             m = {0};
    const char              *why;
    AS_TRY(keys_check(r, object, keys));
    AS_TRY(kind_read(r, object, &m.kind));
    AS_TRY(number_read(r, object, "value", &m.value));
    AS_TRY(number_read(r, object, "lo", &m.lo));
    AS_TRY(number_read(r, object, "hi", &m.hi));
    AS_TRY(count_read(r, object, "n", &m.n));
    AS_TRY(text_read(r, object, "unit", false, &m.unit));
    AS_TRY(text_read(r, object, "source", true, &m.source));
    if (json_object_get(object, "reason"))
        AS_TRY(text_read(r, object, "reason", false, &m.reason));
    if (!as_metric_ok(&m, &why))
        return complain(r, "the metric is not valid: %s", why);
    *out = m;
    return ASSAY_OK;
}

static assay_status facts_read(reader *r, as_fact_group *g, json_t *facts)
{
    static const char *const keys[] = {"label", "metric", NULL};
    const char              *key, *label;
    json_t                  *value;
    if (!json_is_object(facts))
        return complain(r, "\"facts\": expected an object, found %s", type_name(facts));
    json_object_foreach(facts, key, value)
    {
        assay_metric m;
        size_t       up = go_down(r, ".facts[\"%.80s\"]", key);
        if (++r->n_facts > MAX_FACTS)
            return complain(r, "more than %d facts", MAX_FACTS);
        if (!*key)
            return complain(r, "an empty key");
        if (as_facts_metric(r->facts, key))
            return complain(r, "the key is used by another fact");
        AS_TRY(keys_check(r, value, keys));
        AS_TRY(text_read(r, value, "label", false, &label));
        size_t up_metric = go_down(r, ".metric");
        AS_TRY(metric_read(r, json_object_get(value, "metric"), &m));
        go_up(r, up_metric);
        as_facts_add(r->facts, g, key, label, m);
        go_up(r, up);
    }
    return r->facts->status;
}

/* "key|label" is how as_facts_table() takes its columns, so a key with a bar in it cannot be kept. */
static assay_status columns_read(reader *r, json_t *columns, const char **out)
{
    static const char *const keys[] = {"key", "label", NULL};
    size_t                   i;
    json_t                  *value;
    if (!json_is_array(columns) || !json_array_size(columns) || json_array_size(columns) > MAX_COLUMNS)
        return complain(r, "\"columns\": expected an array of 1 to %d, found %s of %zu", MAX_COLUMNS, type_name(columns),
                        json_array_size(columns));
    json_array_foreach(columns, i, value)
    {
        const char *key, *label;
        size_t      up = go_down(r, ".columns[%zu]", i);
        AS_TRY(keys_check(r, value, keys));
        AS_TRY(text_read(r, value, "key", false, &key));
        AS_TRY(text_read(r, value, "label", false, &label));
        if (!*key || strchr(key, '|'))
            return complain(r, "\"key\": \"%s\" is empty or contains a |", key);
        out[i] = as_arena_printf(&r->facts->arena, "%s|%s", key, label);
        if (!out[i])
            return as_fail(r->env, ASSAY_NO_MEMORY, "run JSON: %s: not enough memory for a column", r->path);
        go_up(r, up);
    }
    out[json_array_size(columns)] = NULL;
    return ASSAY_OK;
}

static assay_status row_read(reader *r, as_table *t, json_t *row)
{
    as_cell cells[MAX_COLUMNS];
    size_t  i;
    json_t *value;
    if (!json_is_array(row) || json_array_size(row) != (size_t)t->n_columns)
        return complain(r, "expected an array of %d cells, found %s of %zu", t->n_columns, type_name(row), json_array_size(row));
    json_array_foreach(row, i, value)
    {
        size_t up = go_down(r, "[%zu]", i);
        cells[i] = (as_cell){.text = json_string_value(value)};
        if (!cells[i].text)
            AS_TRY(metric_read(r, value, &cells[i].metric));
        go_up(r, up);
    }
    as_facts_row(r->facts, t, cells);
    return r->facts->status;
}

static assay_status tables_read(reader *r, as_fact_group *g, json_t *tables)
{
    static const char *const keys[] = {"label", "columns", "rows", NULL};
    const char              *key, *label, *columns[MAX_COLUMNS + 1];
    json_t                  *value, *row;
    size_t                   i;
    if (!json_is_object(tables))
        return complain(r, "\"tables\": expected an object, found %s", type_name(tables));
    json_object_foreach(tables, key, value)
    {
        size_t up = go_down(r, ".tables[\"%.80s\"]", key);
        if (!*key)
            return complain(r, "an empty key");
        AS_TRY(keys_check(r, value, keys));
        AS_TRY(text_read(r, value, "label", false, &label));
        AS_TRY(columns_read(r, json_object_get(value, "columns"), columns));
        as_table *t = as_facts_table(r->facts, g, key, label, columns);
        json_t   *rows = json_object_get(value, "rows");
        if (!t)
            return r->facts->status;
        if (!json_is_array(rows))
            return complain(r, "\"rows\": expected an array, found %s", type_name(rows));
        json_array_foreach(rows, i, row)
        {
            size_t up_row = go_down(r, ".rows[%zu]", i);
            AS_TRY(row_read(r, t, row));
            go_up(r, up_row);
        }
        go_up(r, up);
    }
    return ASSAY_OK;
}

static assay_status numbers_read(reader *r, json_t *object, const char *key, bool may_be_null, double **out, size_t *n)
{
    json_t *array = json_object_get(object, key), *value;
    size_t  i;
    *out = NULL;
    if (may_be_null && json_is_null(array))
        return ASSAY_OK;
    if (!json_is_array(array))
        return complain(r, "\"%s\": expected an array, found %s", key, type_name(array));
    double *x = AS_TAKE(&r->facts->arena, double, json_array_size(array));
    if (!x)
        return as_fail(r->env, ASSAY_NO_MEMORY, "run JSON: %s: not enough memory for a series of %zu", r->path,
                       json_array_size(array));
    json_array_foreach(array, i, value)
    {
        if (!json_is_number(value) && !json_is_null(value))
            return complain(r, "\"%s\"[%zu]: expected a number or null, found %s", key, i, type_name(value));
        x[i] = json_is_null(value) ? (double)NAN : json_number_value(value);
    }
    *out = x;
    *n = json_array_size(array);
    return ASSAY_OK;
}

static assay_status series_read(reader *r, as_fact_group *g, json_t *all)
{
    static const char *const keys[] = {"label", "kind", "source", "x_unit", "y_unit", "x", "y", NULL};
    const char              *key;
    json_t                  *value;
    if (!json_is_object(all))
        return complain(r, "\"series\": expected an object, found %s", type_name(all));
    json_object_foreach(all, key, value)
    {
        as_series s = {.key = key};
        size_t    n_x = 0, up = go_down(r, ".series[\"%.80s\"]", key);
        if (!*key)
            return complain(r, "an empty key");
        AS_TRY(keys_check(r, value, keys));
        AS_TRY(kind_read(r, value, &s.kind));
        AS_TRY(text_read(r, value, "label", false, &s.label));
        AS_TRY(text_read(r, value, "source", false, &s.source));
        AS_TRY(text_read(r, value, "x_unit", true, &s.x_unit));
        AS_TRY(text_read(r, value, "y_unit", false, &s.y_unit));
        if (s.kind == ASSAY_UNAVAILABLE || !*s.source || !*s.y_unit)
            return complain(r, "a series needs a kind with values, a source and a unit");
        AS_TRY(numbers_read(r, value, "x", true, &s.x, &n_x));
        AS_TRY(numbers_read(r, value, "y", false, &s.y, &s.n));
        if (s.x && n_x != s.n)
            return complain(r, "x has %zu values and y has %zu", n_x, s.n);
        as_facts_series(r->facts, g, &s);
        go_up(r, up);
    }
    return r->facts->status;
}

static assay_status findings_read(reader *r, as_fact_group *g, json_t *findings)
{
    static const char *const keys[] = {"level", "text", NULL};
    size_t                   i;
    json_t                  *value;
    if (!json_is_array(findings))
        return complain(r, "\"findings\": expected an array, found %s", type_name(findings));
    json_array_foreach(findings, i, value)
    {
        const char *level, *text;
        size_t      known = 0, up = go_down(r, ".findings[%zu]", i);
        AS_TRY(keys_check(r, value, keys));
        AS_TRY(text_read(r, value, "level", false, &level));
        AS_TRY(text_read(r, value, "text", false, &text));
        while (known < AS_COUNT(level_names) && strcmp(level, level_names[known]))
            known++;
        if (known == AS_COUNT(level_names))
            return complain(r, "\"level\": \"%s\" is not one of note, good, warn, bad", level);
        as_facts_find(r->facts, g, (as_level)known, "%s", text);
        go_up(r, up);
    }
    return r->facts->status;
}

static assay_status group_read(reader *r, const char *key, json_t *object)
{
    static const char *const keys[] = {"label", "facts", "tables", "series", "findings", NULL};
    const char              *label;
    if (!*key)
        return complain(r, "an empty key");
    AS_TRY(keys_check(r, object, keys));
    AS_TRY(text_read(r, object, "label", false, &label));
    as_fact_group *g = as_facts_group(r->facts, key, label);
    if (!g)
        return r->facts->status;
    AS_TRY(facts_read(r, g, json_object_get(object, "facts")));
    AS_TRY(tables_read(r, g, json_object_get(object, "tables")));
    AS_TRY(series_read(r, g, json_object_get(object, "series")));
    return findings_read(r, g, json_object_get(object, "findings"));
}

static assay_status groups_read(reader *r, json_t *groups)
{
    const char *key;
    json_t     *value;
    if (!json_is_object(groups) || json_object_size(groups) > MAX_GROUPS)
        return complain(r, "\"groups\": expected an object of at most %d, found %s of %zu", MAX_GROUPS, type_name(groups),
                        json_object_size(groups));
    json_object_foreach(groups, key, value)
    {
        size_t up = go_down(r, "%sgroups[\"%.80s\"]", r->length ? "." : "", key);
        AS_TRY(group_read(r, key, value));
        go_up(r, up);
    }
    return ASSAY_OK;
}

static assay_status notes_read(reader *r, json_t *notes)
{
    const char *key;
    json_t     *value;
    if (!json_is_object(notes) || json_object_size(notes) > MAX_NOTES)
        return complain(r, "\"notes\": expected an object of at most %d, found %s of %zu", MAX_NOTES, type_name(notes),
                        json_object_size(notes));
    json_object_foreach(notes, key, value)
    {
        if (!*key || !json_is_string(value))
            return complain(r, "\"notes\"[\"%.80s\"]: expected a string under a key, found %s", key, type_name(value));
        as_facts_note(r->facts, key, json_string_value(value));
    }
    return r->facts->status;
}

static assay_status trials_read(reader *r, json_t *trials)
{
    assay_facts *f = r->facts;
    size_t       n = json_array_size(trials);
    if (trials && (!json_is_array(trials) || n > MAX_TRIALS))
        return complain(r, "\"trials\": expected an array of at most %d, found %s", MAX_TRIALS, type_name(trials));
    f->owns_trials = true;
    f->trials = AS_TAKE(&f->arena, assay_trace *, n);
    if (!f->trials)
        return as_fail(r->env, ASSAY_NO_MEMORY, "run JSON: %s: not enough memory for %zu trials", r->path, n);
    for (; f->n_trials < n; f->n_trials++) {
        AS_TRY(as_trace_json_read(r->env, "run JSON", r->path, json_array_get(trials, f->n_trials), &f->trials[f->n_trials]));
        f->with_samples = f->with_samples || f->trials[f->n_trials]->n_shots;
    }
    return ASSAY_OK;
}

static assay_status run_read(reader *r, json_t *root)
{
    static const char *const keys[] = {"schema", "title", "notes", "groups", "profile", "trials", NULL};
    const char              *schema, *title;
    if (!json_is_object(root))
        return complain(r, "expected an object, found %s", type_name(root));
    AS_TRY(text_read(r, root, "schema", false, &schema));
    if (!strcmp(schema, SCHEMA_ALL))
        return complain(r, "expected one run (\"%s\"), found several (\"%s\")", SCHEMA, SCHEMA_ALL);
    if (strcmp(schema, SCHEMA))
        return complain(r, "\"schema\" is \"%s\"; this reader knows \"%s\"", schema, SCHEMA);
    AS_TRY(keys_check(r, root, keys));
    AS_TRY(text_read(r, root, "title", false, &title));
    AS_TRY(notes_read(r, json_object_get(root, "notes")));
    AS_TRY(groups_read(r, json_object_get(root, "groups")));
    if (json_object_get(root, "profile") &&
        !json_is_object(json_object_get(root, "profile"))) /* the groups say the same: it is not read */
        return complain(r, "\"profile\": expected an object, found %s", type_name(json_object_get(root, "profile")));
    AS_TRY(trials_read(r, json_object_get(root, "trials")));
    r->facts->title = as_facts_keep(r->facts, title);
    return r->facts->status;
}

/* Reads one run at the current place. */
static assay_status facts_of(reader *r, json_t *root, assay_facts **out)
{
    r->n_facts = 0;
    r->facts = as_facts_new(r->env);
    assay_status status =
        r->facts ? run_read(r, root) : as_fail(r->env, ASSAY_NO_MEMORY, "run JSON: %s: not enough memory for facts", r->path);
    if (status != ASSAY_OK)
        assay_facts_free(r->facts);
    else
        *out = r->facts;
    return status;
}

assay_status as_facts_parse(assay_env *env, const char *path, const char *data, size_t n, assay_facts **out)
{
    json_t *root;
    AS_TRY(as_json_parse(env, "run JSON", path, data, n, &root));
    reader       r = {.env = env, .path = path};
    assay_status status = facts_of(&r, root, out);
    json_decref(root);
    return status;
}

/* --- Several runs ------------------------------------------------------------------------------------- */

/* The list of runs: the "runs" of several, or one run alone, which is borrowed too. */
static assay_status runs_find(reader *r, json_t *root, json_t **out, size_t *n)
{
    static const char *const keys[] = {"schema", "runs", NULL};
    const char              *schema = json_string_value(json_object_get(root, "schema"));
    *n = 1;
    *out = NULL;
    if (!schema || strcmp(schema, SCHEMA_ALL))
        return ASSAY_OK;
    json_t *runs = json_object_get(root, "runs");
    AS_TRY(keys_check(r, root, keys));
    if (!json_is_array(runs) || !json_array_size(runs) || json_array_size(runs) > MAX_RUNS)
        return complain(r, "\"runs\": expected an array of 1 to %d, found %s of %zu", MAX_RUNS, type_name(runs),
                        json_array_size(runs));
    *n = json_array_size(runs);
    *out = runs;
    return ASSAY_OK;
}

static assay_status all_read(reader *r, json_t *root, assay_facts ***out, size_t *n_out)
{
    json_t *runs;
    size_t  n, i;
    AS_TRY(runs_find(r, root, &runs, &n));
    assay_facts **all = calloc(n, sizeof *all);
    assay_status  status =
        all ? ASSAY_OK : as_fail(r->env, ASSAY_NO_MEMORY, "run JSON: %s: not enough memory for %zu runs", r->path, n);
    for (i = 0; i < n && status == ASSAY_OK; i++) {
        go_up(r, 0);
        if (runs)
            go_down(r, "runs[%zu]", i);
        status = facts_of(r, runs ? json_array_get(runs, i) : root, &all[i]);
    }
    if (status != ASSAY_OK) {
        assay_facts_free_all(all, n);
        return status;
    }
    *out = all;
    *n_out = n;
    return ASSAY_OK;
}

assay_status as_facts_parse_all(assay_env *env, const char *path, const char *data, size_t n, assay_facts ***out, size_t *n_out)
{
    json_t *root;
    AS_TRY(as_json_parse(env, "run JSON", path, data, n, &root));
    reader       r = {.env = env, .path = path};
    assay_status status = all_read(&r, root, out, n_out);
    json_decref(root);
    return status;
}

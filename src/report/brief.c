/* brief.c - fills briefs, and chooses the kind of brief for some facts. */
#include "report/brief.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

const char *as_brief_say(as_brief *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int   n = vsnprintf(NULL, 0, format, args);
    char *text = n >= 0 ? as_arena_take(&b->arena, (size_t)n + 1, 1, 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    b->failed |= !text;
    return text ? text : "";
}

const char *as_brief_value(as_brief *b, const assay_metric *m)
{
    char buf[64];
    return m && as_metric_has(m) ? as_brief_say(b, "%s", as_show(buf, sizeof buf, m->value, m->unit)) : "n/a";
}

const char *as_brief_interval(as_brief *b, const assay_metric *m)
{
    char        buf[160], value[64];
    const char *both = m && as_metric_has(m) ? as_show_interval(buf, sizeof buf, m) : "";
    if (!*both)
        return "";
    as_show(value, sizeof value, m->value, m->unit);
    const char *unit = strchr(value, ' ');
    size_t      n = strlen(both), n_unit = unit ? strlen(unit) : 0;
    bool        same = n_unit && n > n_unit && !strcmp(both + n - n_unit, unit);
    return as_brief_say(b, "(%.*s)", (int)(same ? n - n_unit : n), both);
}

static const char *bytes_say(as_brief *b, double bytes)
{
    char buf[64];
    return as_brief_say(b, "%s", as_show(buf, sizeof buf, bytes, "byte"));
}

const char *as_brief_memory(as_brief *b, double weights, double packed, double working)
{
    return as_brief_say(b, "%s weights + %s%s%s working", bytes_say(b, weights), packed > 0 ? bytes_say(b, packed) : "",
                        packed > 0 ? " packed + " : "", bytes_say(b, working));
}

const char *as_brief_percent(as_brief *b, double share)
{
    if (!isfinite(share))
        return "n/a";
    double percent = 100 * share, size = fabs(percent);
    if (size > 0 && size < .1)
        return "<0.1 %";
    return as_brief_say(b, size < 1 && size > 0 ? "%.1f %%" : "%.0f %%", percent);
}

void as_brief_number_add(as_brief *b, const char *label, const assay_metric *m, const char *value, const char *aside)
{
    if (b->n_numbers < AS_BRIEF_NUMBERS)
        b->numbers[b->n_numbers++] = (as_brief_number){
            .label = label, .value = value ? value : as_brief_value(b, m), .aside = aside ? aside : "", .metric = m};
}

as_brief_table *as_brief_table_add(as_brief *b, const char *const *columns)
{
    if (b->n_tables == AS_BRIEF_TABLES)
        return NULL;
    as_brief_table *t = &b->tables[b->n_tables++];
    *t = (as_brief_table){.n_columns = 0};
    t->left[0] = true;
    while (t->n_columns < AS_BRIEF_COLUMNS && columns[t->n_columns]) {
        t->columns[t->n_columns] = columns[t->n_columns];
        t->n_columns++;
    }
    return t;
}

as_brief_row *as_brief_row_add(as_brief *b, as_brief_table *t, const char *name)
{
    static _Thread_local as_brief_row spare;
    as_brief_row                     *row = &spare;
    if (t && t->n_rows == t->cap_rows) {
        int           more = t->cap_rows ? 2 * t->cap_rows : 16;
        as_brief_row *grown = AS_TAKE(&b->arena, as_brief_row, more);
        b->failed |= !grown;
        if (grown && t->n_rows)
            memcpy(grown, t->rows, (size_t)t->n_rows * sizeof *grown);
        t->rows = grown ? grown : t->rows;
        t->cap_rows = grown ? more : t->cap_rows;
    }
    if (t && t->n_rows < t->cap_rows)
        row = &t->rows[t->n_rows++];
    *row = (as_brief_row){.bar = NAN, .used = NAN, .role = AS_CHART_MAIN};
    for (int i = 0; i < AS_BRIEF_COLUMNS; i++)
        row->cells[i] = "";
    row->cells[0] = name;
    return row;
}

void as_brief_text_add(as_brief *b, const char *text)
{
    if (b->n_texts < AS_BRIEF_TEXTS)
        b->texts[b->n_texts++] = text;
}

void as_brief_try_add(as_brief *b, as_brief_try attempt)
{
    if (b->n_tries < AS_BRIEF_TRIES)
        b->tries[b->n_tries++] = attempt;
}

void as_brief_check_add(as_brief *b, as_level level, const char *text)
{
    if (b->n_checks < AS_BRIEF_CHECKS)
        b->checks[b->n_checks++] = (as_brief_check){level, text};
}

void as_brief_hint_add(as_brief *b, const char *option, const char *what)
{
    if (b->n_hints < AS_BRIEF_HINTS)
        b->hints[b->n_hints++] = (as_brief_hint){option, what};
}

/* Levels in order of how much they reduce trust. */
static int doubt(as_level level)
{
    static const int doubts[] = {[AS_LEVEL_GOOD] = 0, [AS_LEVEL_NOTE] = 1, [AS_LEVEL_WARN] = 2, [AS_LEVEL_BAD] = 3};
    return doubts[level];
}

as_level as_brief_trust_level(const as_brief *b)
{
    as_level worst = AS_LEVEL_GOOD;
    for (int i = 0; i < b->n_checks; i++)
        worst = doubt(b->checks[i].level) > doubt(worst) ? b->checks[i].level : worst;
    return worst;
}

void as_brief_trust_make(as_brief *b)
{
    static const char *const words[] = {[AS_LEVEL_GOOD] = "Trustworthy",
                                        [AS_LEVEL_NOTE] = "Not all could be checked",
                                        [AS_LEVEL_WARN] = "Take care",
                                        [AS_LEVEL_BAD] = "Do not trust it"};
    b->trust = b->n_checks ? words[as_brief_trust_level(b)] : NULL;
}

bool as_brief_make(as_brief *b, const assay_facts *f)
{
    const as_brief_kind *best = NULL;
    for (const as_brief_kind *const *k = as_br_table; *k; k++)
        if ((!best || (*k)->order < best->order) && (*k)->fits(f))
            best = *k;
    if (!best)
        return false;
    *b = (as_brief){.title = *f->title ? f->title : "a run",
                    .settings = "",
                    .level = AS_LEVEL_NOTE,
                    .by_module = b->by_module,
                    .module_depth = b->module_depth};
    best->make(b, f);
    return !b->failed;
}

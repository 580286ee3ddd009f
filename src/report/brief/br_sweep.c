/* br_sweep.c - the first screen of a comparison over the values of an option: which candidate wins where. */
#include <math.h>
#include <string.h>

#include "report/brief/compare.h"
#include "report/pick.h"

enum { MAX_VALUES = 8, MAX_ARMS = AS_BRIEF_COLUMNS - 2, MAX_LAYERS = 3, MAX_RANGES = 4 };

static bool fits(const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "sweep", "values");
    return t && t->n_rows > 1 && as_facts_table_find(f, "sweep", "ranges") && as_facts_table_find(f, "compare", "candidates");
}

/* --- Sentences -------------------------------------------------------------------------------------------------- */

static const char *key_words(as_brief *b, const char *key)
{
    static const char *const words[][2] = {
        {"batch", "batch size"}, {"threads", "number of threads"}, {"seq", "sequence length"}, {"size", "size"}};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (!strcmp(key, words[i][0]))
            return words[i][1];
    return as_brief_say(b, "value of %s", key);
}

/* "batch=8" as "batch 8". */
static const char *value_words(as_brief *b, const char *label)
{
    const char *equals = strchr(label, '=');
    return equals ? as_brief_say(b, "%.*s %s", (int)(equals - label), label, equals + 1) : label;
}

/* Only the part after the equals sign: "batch 1 to 4" and not "batch 1 to batch 4". */
static const char *value_only(const char *label)
{
    const char *equals = strchr(label, '=');
    return equals ? equals + 1 : label;
}

/* "from batch 4 on", "up to batch 2", "at batch 8", "from batch 2 to 8". */
static const char *where(as_brief *b, const as_table *t, int row)
{
    const char *from = as_words_at(t, row, "from"), *to = as_words_at(t, row, "to");
    if (row == 0 && row + 1 < t->n_rows && strcmp(from, to))
        return as_brief_say(b, "up to %s", value_words(b, to));
    if (row && row + 1 == t->n_rows && strcmp(from, to))
        return as_brief_say(b, "from %s on", value_words(b, from));
    if (!strcmp(from, to))
        return as_brief_say(b, "at %s", value_words(b, from));
    return as_brief_say(b, "from %s to %s", value_words(b, from), value_only(to));
}

static const char *range_words(as_brief *b, const as_table *t, int row)
{
    const char *how = as_words_at(t, row, "how"), *winner = as_words_at(t, row, "winner"), *at = where(b, t, row);
    if (!strcmp(how, "won"))
        return as_brief_say(b, "%s wins %s", winner, at);
    return as_brief_say(b, "%s %s", !strcmp(how, "same") ? "no difference" : "cannot tell", at);
}

static void headline_make(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "sweep", "ranges"), *values = as_facts_table_find(f, "sweep", "values");
    const char     *key = key_words(b, values->columns[0].label), *how = t->n_rows ? as_words_at(t, 0, "how") : "", *text = "";
    b->level = AS_LEVEL_GOOD;
    if (t->n_rows == 1 && !strcmp(how, "won"))
        b->headline = as_brief_say(b, "%s won at every %s", as_words_at(t, 0, "winner"), key);
    else if (t->n_rows == 1 && !strcmp(how, "same"))
        b->headline = as_brief_say(b, "No difference above %s at any %s", as_brief_percent(b, as_brief_margin(f)), key);
    else if (t->n_rows == 1)
        b->headline = as_brief_say(b, "Cannot tell at any %s: give it more time with --budget", key);
    else if (t->n_rows > MAX_RANGES)
        b->headline = as_brief_say(b, "The winner changes %d times over %s", t->n_rows - 1, key);
    for (int i = 0; t->n_rows <= MAX_RANGES && t->n_rows > 1 && i < t->n_rows; i++)
        text = as_brief_say(b, "%s%s%s", text, i ? ", " : "", range_words(b, t, i));
    b->headline = b->headline ? b->headline : text;
    for (int i = 0; i < t->n_rows; i++)
        b->level = !strcmp(as_words_at(t, i, "how"), "unclear") ? AS_LEVEL_WARN : b->level;
}

/* --- The grid ---------------------------------------------------------------------------------------------------- */

/* What was judged: the time per call or per item. */
static const char *time_of(as_brief *b, const as_table *values, const as_table *items, int row, int arm, int n_arms)
{
    const as_cell *c = as_cell_at(values, row, arm + 1);
    if (items && row * n_arms + arm < items->n_rows)
        c = as_cell_at(items, row * n_arms + arm, as_column_find(items, "item"));
    return c && !c->text ? as_brief_value(b, &c->metric) : "-";
}

/* The range that contains a value: the ranges follow each other over the values. */
static int range_of(const as_table *ranges, int row)
{
    int end = 0;
    for (int i = 0; i < ranges->n_rows; i++) {
        end += (int)as_value_at(ranges, i, "rows");
        if (row < end)
            return i;
    }
    return ranges->n_rows - 1;
}

static void grid_add(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "sweep", "values"), *items = as_facts_table_find(f, "sweep", "items"),
                   *ranges = as_facts_table_find(f, "sweep", "ranges");
    int         n_arms = t->n_columns - 3, n = n_arms < MAX_ARMS ? n_arms : MAX_ARMS - 1, shown = t->n_rows;
    const char *columns[AS_BRIEF_COLUMNS + 1] = {items ? as_brief_say(b, "%s, per item", t->columns[0].label)
                                                       : t->columns[0].label};
    for (int arm = 0; arm < n; arm++)
        columns[arm + 1] = t->columns[arm + 1].label;
    columns[n + 1] = n < n_arms ? as_brief_say(b, "winner (of %d)", n_arms) : "winner";
    as_brief_table *table = as_brief_table_add(b, columns);
    if (!table)
        return;
    table->left[n + 1] = true;
    shown = shown > MAX_VALUES + 1 ? MAX_VALUES : shown;
    for (int i = 0; i < shown; i++) {
        int           range = range_of(ranges, i);
        const char   *how = as_words_at(ranges, range, "how");
        as_brief_row *row = as_brief_row_add(b, table, value_only(as_words_at(t, i, "value")));
        for (int arm = 0; arm < n; arm++)
            row->cells[arm + 1] = time_of(b, t, items, i, arm, n_arms);
        row->cells[n + 1] = !strcmp(how, "won")    ? as_words_at(ranges, range, "winner")
                            : !strcmp(how, "same") ? "no difference"
                                                   : "cannot tell";
        row->role = !strcmp(how, "unclear") ? AS_CHART_WARN : AS_CHART_MAIN;
    }
    if (shown < t->n_rows)
        as_brief_row_add(b, table, as_brief_say(b, "%d others", t->n_rows - shown))->role = AS_CHART_MUTED;
}

static void make(as_brief *b, const assay_facts *f)
{
    as_brief_compare_title(b, f);
    headline_make(b, f);
    grid_add(b, f);
    if (!as_brief_rates_add(b, f))
        as_brief_layers_add(b, f, -1, MAX_LAYERS);
    as_brief_compare_end(b, f);
}

const as_brief_kind as_br_sweep = {.name = "sweep", .order = 30, .fits = fits, .make = make};

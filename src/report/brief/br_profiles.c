/* br_profiles.c - the first screen of two profiles side by side: which layers differ, and the warning that this proves little. */
#include <math.h>

#include "report/brief/compare.h"
#include "report/pick.h"

enum { MAX_LAYERS = 8 };

static bool fits(const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "profiles", "profiles");
    return t && t->n_rows == 2;
}

static void make(as_brief *b, const assay_facts *f)
{
    static const char *const columns[] = {"Profile", "latency", "interval", "memory", "measured", NULL};
    const as_table          *t = as_facts_table_find(f, "profiles", "profiles"), *diff = as_brief_diff_of(f, 0);
    as_brief_ratio           ratio = as_brief_ratio_at(t, 1, "ratio");
    as_brief_table          *table = as_brief_table_add(b, columns);
    const char              *first = as_words_at(t, 0, "name"), *second = as_words_at(t, 1, "name");
    b->settings = as_words_at(t, 1, "title");
    b->headline = ratio.value == 1 ? as_brief_say(b, "%s and %s took the same time", first, second)
                  : isfinite(ratio.value)
                      ? as_brief_say(b, "%s %s, each measured at its own time", second, as_brief_faster(b, ratio, first, false))
                      : as_brief_say(b, "%s against %s, layer by layer", second, first);
    if (table)
        table->left[4] = true;
    for (int i = 0; table && i < 2; i++) {
        const as_cell *time = as_cell_at(t, i, as_column_find(t, "time")), *memory = as_cell_at(t, i, as_column_find(t, "memory"));
        as_brief_row  *row = as_brief_row_add(b, table, as_words_at(t, i, "name"));
        row->cells[1] = time && !time->text ? as_brief_value(b, &time->metric) : "-";
        row->cells[2] = time && !time->text ? as_brief_interval(b, &time->metric) : "";
        row->cells[3] = memory && !memory->text ? as_brief_value(b, &memory->metric) : "-";
        row->cells[4] = as_words_at(t, i, "when");
    }
    if (diff)
        as_brief_diff_add(b, diff, "What differs", MAX_LAYERS);
    as_brief_check_add(b, AS_LEVEL_WARN,
                       "measured at different times, so a small difference proves nothing; assay compare measures both in turns");
    as_brief_trust_make(b);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "page");
}

const as_brief_kind as_br_profiles = {.name = "profiles", .order = 35, .fits = fits, .make = make};

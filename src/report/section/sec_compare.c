/* sec_compare.c - comparisons: the verdicts, then round by round what they stand on.  In a check the verdicts stand in its own section. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_PICTURES = 8, FEW = 2 };

static double input(const assay_facts *f, int row, const char *key)
{
    const as_table *t = as_facts_table_find(f, "compare", "inputs");
    return t && row < t->n_rows ? as_value_at(t, row, key) : (double)NAN;
}

static void rounds_add(as_doc *d, const assay_facts *f, const as_table *t, int row, bool plain)
{
    const as_series *s = as_series_at(f, "compare", row, "differences");
    const as_cell   *change = as_cell_at(t, row, as_column_find(t, "change"));
    const char      *name = as_cell_words(as_cell_at(t, row, 0)), *verdict = as_words_at(t, row, "verdict");
    if (!s || !s->x || !change || change->text)
        return;
    double          margin = input(f, row, "margin");
    as_duel_picture picture = {.x = s->x,
                               .y = s->y,
                               .n = s->n,
                               .estimate = change->metric.value,
                               .lo = change->metric.lo,
                               .hi = change->metric.hi,
                               .margin = isfinite(margin) ? margin : 0,
                               .level = as_level_of(verdict)};
    const char     *b = as_words_at(t, row, "b"), *own = strcmp(name, b) ? as_arena_printf(&d->arena, "%s: ", name) : "";
    const char     *caption = as_arena_printf(
            &d->arena, "%s%s against %s: a dot a round, bars count them; the band is the interval, the broken lines the margin",
        own ? own : "", b, as_words_at(t, row, "a"));
    as_pick_chart(d, caption, as_svg_duel(&d->arena, &picture, "Paired differences"),
                  plain ? as_plain_histogram(&d->arena, s->y, s->n, s->y_unit) : "");
}

/* What is the same needs no picture where there are many. */
static bool is_shown(const as_table *t, int row) { return t->n_rows <= FEW || strcmp(as_words_at(t, row, "verdict"), "same"); }

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "compare", "duels");
    bool            in_check = as_facts_group_find(f, "check") != NULL;
    int             n_shown = 0;
    if (!t)
        return;
    d->detail = in_check;
    as_doc_heading(d, in_check ? "rounds" : "compare", in_check ? "Round by round" : "Compare");
    if (!in_check) {
        as_pick_findings(d, f, "compare");
        as_pick_forest(d, t, "verdict", input(f, 0, "margin"),
                       as_column_find(t, "a_item") < 0 ? "Change of time with its interval; the band is the margin"
                                                       : "Change of the time per item with its interval; the band is the margin");
        as_pick_table(d, f, "compare", "duels");
    }
    d->detail = true;
    for (int i = 0; i < t->n_rows && n_shown < MAX_PICTURES; i++) {
        if (!is_shown(t, i))
            continue;
        n_shown++;
        rounds_add(d, f, t, i, t->n_rows <= FEW);
        as_pick_noise(d, f, "compare", i, as_cell_words(as_cell_at(t, i, 0)), t->n_rows <= FEW);
    }
    as_doc_heading(d, "inputs", "Inputs of the decisions");
    as_pick_table(d, f, "compare", "inputs");
    d->detail = false;
}

const as_section as_sec_compare = {.name = "compare", .order = 16, .write = write_section};

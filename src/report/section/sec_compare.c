/* sec_compare.c - comparisons: the verdicts, then their data round by round.  In a check, the verdicts have a section of their
 * own. */
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

static void rounds_add(as_doc *d, const assay_facts *f, const as_table *t, int row, bool extra)
{
    const as_series *s = as_series_at(f, "compare", row, "differences");
    const as_cell   *change = as_cell_at(t, row, as_column_find(t, "change"));
    const char      *name = as_cell_words(as_cell_at(t, row, 0)), *verdict = as_words_at(t, row, "verdict");
    if (!s || !s->x || !change || change->text)
        return;
    double          margin = input(f, row, "margin");
    as_chart_series series = as_pick_series(s);
    const as_mark   marks[] = {
          {.label = "estimate",
           .on = AS_MARK_Y,
           .role = as_chart_role_of(verdict),
           .at = change->metric.value,
           .lo = change->metric.lo,
           .hi = change->metric.hi},
          {.label = "margin", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = margin, .lo = -margin, .hi = margin}};
    const char *b = as_words_at(t, row, "b"), *own = strcmp(name, b) ? as_arena_printf(&d->arena, "%s: ", name) : "";
    const char *caption = as_arena_printf(
        &d->arena, "%s%s against %s: one dot per round, bars count them; the band is the interval, the dashed lines the margin",
        own ? own : "", b, as_words_at(t, row, "a"));
    as_doc_chart(d, &(as_chart){.kind = "rounds",
                                .group = "compare",
                                .title = "Paired differences",
                                .caption = caption,
                                .x = {.label = "time of the round", .unit = s->x_unit},
                                .y = {{.label = "difference", .unit = s->y_unit}},
                                .series = &series,
                                .n_series = 1,
                                .marks = marks,
                                .n_marks = margin > 0 ? 2 : 1,
                                .extra = extra});
}

/* Candidates that differ in their batch: one line over it. */
static void rate_chart(as_doc *d, const assay_facts *f, const char *key, const char *title)
{
    const as_series *s = as_facts_series_find(f, "compare", key);
    if (!s || !s->x)
        return;
    as_chart_series line = as_pick_series(s);
    as_doc_chart(d, &(as_chart){.kind = "sweep",
                                .group = "compare",
                                .title = title,
                                .caption = title,
                                .x = {.label = "batch size", .unit = "1", .log = true},
                                .y = {{.label = s->label, .unit = s->y_unit, .log = true}},
                                .series = &line,
                                .n_series = 1});
}

/* With many comparisons, those without a difference get no chart. */
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
        as_pick_intervals(d, t, "compare", "verdict", input(f, 0, "margin"),
                          as_column_find(t, "a_item") < 0
                              ? "Change of time with its interval; the band is the margin"
                              : "Change of the time per item with its interval; the band is the margin");
        as_pick_table(d, f, "compare", "duels");
        rate_chart(d, f, "rates.bandwidth", "Bandwidth over the batch size");
        rate_chart(d, f, "rates.tflops", "Work rate over the batch size");
        as_pick_table(d, f, "compare", "rates");
    }
    d->detail = true;
    for (int i = 0; i < t->n_rows && n_shown < MAX_PICTURES; i++) {
        if (!is_shown(t, i))
            continue;
        n_shown++;
        rounds_add(d, f, t, i, t->n_rows > FEW);
        as_pick_noise(d, f, "compare", i, as_cell_words(as_cell_at(t, i, 0)), t->n_rows > FEW);
    }
    as_doc_heading(d, "inputs", "Inputs of the decisions");
    as_pick_table(d, f, "compare", "inputs");
    d->detail = false;
}

const as_section as_sec_compare = {.name = "compare", .order = 16, .write = write_section, .part = AS_PART_DEVICES};

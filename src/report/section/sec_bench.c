/* sec_bench.c - cases alone: the table, how wide their samples spread, how near their roofs, and what disturbed them. */
#include <math.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_PICTURES = 8, MAX_SPREAD = 60, FEW = 2 };

/* Cases of microseconds and of seconds in one picture: each against its own median. */
static void spread_add(as_doc *d, const as_table *t)
{
    as_forest_row *rows = AS_TAKE(&d->arena, as_forest_row, t->n_rows);
    int            n = 0;
    for (int i = 0; rows && i < t->n_rows && n < MAX_SPREAD; i++) {
        double median = as_value_at(t, i, "median"), p5 = as_value_at(t, i, "p5"), p95 = as_value_at(t, i, "p95");
        if (!(median > 0) || !isfinite(p5) || !isfinite(p95))
            continue;
        const char *words = as_show_signs(&d->arena, median, "ns"), *noise = as_words_at(t, i, "noise");
        words = as_arena_printf(&d->arena, "%s, %s", words, noise);
        rows[n++] = (as_forest_row){.label = as_cell_words(as_cell_at(t, i, 0)),
                                    .words = words,
                                    .value = 0,
                                    .lo = p5 / median - 1,
                                    .hi = p95 / median - 1,
                                    .level = as_level_of(noise)};
    }
    if (n > 1)
        as_pick_chart(d, "How the samples spread about each median: the 5th to the 95th percentile",
                      as_svg_forest(&d->arena, rows, n, 0, "Spread of the samples"), as_plain_forest(&d->arena, rows, n, 0));
}

static void roofs_add(as_doc *d, const as_table *t)
{
    as_bar *bars = AS_TAKE(&d->arena, as_bar, t->n_rows);
    int     n = 0;
    for (int i = 0; bars && i < t->n_rows && n < MAX_SPREAD; i++)
        if (as_value_at(t, i, "of_roof") > 0)
            bars[n++] = (as_bar){.label = as_cell_words(as_cell_at(t, i, 0)), .value = 100 * as_value_at(t, i, "of_roof")};
    if (n > 1)
        as_pick_chart(d, "How near each case comes to its roof, in percent",
                      as_svg_bars(&d->arena, bars, n, "%", "Share of the roof"), as_plain_bars(&d->arena, bars, n, "%"));
}

static void distribution_add(as_doc *d, const assay_facts *f, const as_table *t, int row, bool plain)
{
    as_mark                  marks[3];
    int                      n = 0;
    static const char *const keys[] = {"p5", "median", "p95"};
    const as_series         *s = as_series_at(f, "bench", row, "samples");
    for (int i = 0; i < 3; i++)
        if (isfinite(as_value_at(t, row, keys[i])))
            marks[n++] = (as_mark){as_value_at(t, row, keys[i]), keys[i]};
    if (!s)
        return;
    const char *caption = as_arena_printf(&d->arena, "%s: distribution of %zu %s", as_cell_words(as_cell_at(t, row, 0)), s->n,
                                          strncmp(s->label, "blocks", 6) ? "samples" : "blocks");
    as_pick_chart(d, caption, as_svg_histogram(&d->arena, s->y, s->n, s->y_unit, marks, n, "Distribution"),
                  plain ? as_plain_histogram(&d->arena, s->y, s->n, s->y_unit) : "");
}

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const one[] = {"bench.median", "bench.flop_rate", "bench.of_roof", NULL};
    static const char *const several[] = {"bench.cases", "bench.measured", "bench.not_measured",
                                          "bench.noisy", "bench.spent",    NULL};
    const as_table          *t = as_facts_table_find(f, "bench", "cases");
    if (!t)
        return;
    as_pick_facts(d, f, AS_BLOCK_HERO, t->n_rows == 1 ? one : several);
    as_doc_heading(d, "bench", "Bench");
    as_pick_table(d, f, "bench", "cases");
    as_pick_findings(d, f, "bench");
    d->detail = true;
    spread_add(d, t);
    roofs_add(d, t);
    bool plain = t->n_rows <= FEW;
    for (int i = 0; i < t->n_rows && i < MAX_PICTURES; i++) {
        distribution_add(d, f, t, i, plain);
        as_pick_noise(d, f, "bench", i, as_cell_words(as_cell_at(t, i, 0)), plain);
    }
    if (t->n_rows > MAX_PICTURES)
        as_doc_text(d, "Pictures are drawn of the first %d cases; the JSON holds the series of all %d.", MAX_PICTURES, t->n_rows);
    d->detail = false;
}

const as_section as_sec_bench = {.name = "bench", .order = 14, .write = write_section};

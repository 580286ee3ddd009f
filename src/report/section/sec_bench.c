/* sec_bench.c - cases alone: the table, the spread of their samples, their shares of the limits, and what disturbed them. */
#include <math.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_PICTURES = 8, MAX_SPREAD = 60, FEW = 2 };

/* Each case relative to its own median, so that microseconds and seconds fit into one chart. */
static void spread_add(as_doc *d, const as_table *t)
{
    as_points p;
    if (!as_points_take(d, &p, t->n_rows))
        return;
    for (int i = 0; i < t->n_rows && p.n < MAX_SPREAD; i++) {
        double median = as_value_at(t, i, "median"), p5 = as_value_at(t, i, "p5"), p95 = as_value_at(t, i, "p95");
        if (!(median > 0) || !isfinite(p5) || !isfinite(p95))
            continue;
        const char *noise = as_words_at(t, i, "noise");
        p.names[p.n] = as_cell_words(as_cell_at(t, i, 0));
        p.words[p.n] = as_arena_printf(&d->arena, "%s, %s", as_show_signs(&d->arena, median, "ns"), noise);
        p.lo[p.n] = p5 / median - 1, p.hi[p.n] = p95 / median - 1;
        p.roles[p.n++] = as_chart_role_of(noise);
    }
    as_chart_series series = as_points_series(&p);
    if (p.n > 1)
        as_doc_chart(d, &(as_chart){.kind = "intervals",
                                    .group = "bench",
                                    .title = "Spread of the samples",
                                    .caption = "Spread of the samples around each median: 5th to 95th percentile",
                                    .y = {{.label = "against the median", .unit = "ratio"}},
                                    .series = &series,
                                    .n_series = 1,
                                    .table = t});
}

static void roofs_add(as_doc *d, const as_table *t)
{
    as_points p;
    if (!as_points_take(d, &p, t->n_rows))
        return;
    for (int i = 0; i < t->n_rows && p.n < MAX_SPREAD; i++)
        if (as_value_at(t, i, "of_roof") > 0) {
            p.names[p.n] = as_cell_words(as_cell_at(t, i, 0));
            p.y[p.n++] = as_value_at(t, i, "of_roof");
        }
    as_chart_series series = as_points_series(&p);
    if (p.n > 1)
        as_doc_chart(d, &(as_chart){.kind = "bars",
                                    .group = "bench",
                                    .title = "Share of the limit",
                                    .caption = "How close each case comes to its limit",
                                    .y = {{.label = "share of the limit", .unit = "ratio"}},
                                    .series = &series,
                                    .n_series = 1,
                                    .table = t});
}

static void distribution_add(as_doc *d, const assay_facts *f, const as_table *t, int row, bool extra)
{
    as_mark                  marks[3];
    int                      n = 0;
    static const char *const keys[] = {"p5", "median", "p95"};
    const as_series         *samples = as_series_at(f, "bench", row, "samples");
    const as_series         *s = samples ? samples : as_series_at(f, "bench", row, "means");
    for (int i = 0; i < 3; i++)
        if (isfinite(as_value_at(t, row, keys[i])))
            marks[n++] = (as_mark){.label = keys[i], .on = AS_MARK_Y, .role = AS_CHART_NOTE, .at = as_value_at(t, row, keys[i])};
    if (!s)
        return;
    as_chart_series series = as_pick_series(s);
    const char     *caption = as_arena_printf(&d->arena, "%s: distribution of %zu %s", as_cell_words(as_cell_at(t, row, 0)), s->n,
                                          samples ? "samples" : "blocks");
    as_doc_chart(d, &(as_chart){.kind = "histogram",
                                .group = "bench",
                                .title = "Distribution",
                                .caption = caption,
                                .x = {.unit = s->x_unit},
                                .y = {{.label = "time per call", .unit = s->y_unit}},
                                .series = &series,
                                .n_series = 1,
                                .marks = marks,
                                .n_marks = n,
                                .extra = extra});
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
    for (int i = 0; i < t->n_rows && i < MAX_PICTURES; i++) {
        distribution_add(d, f, t, i, t->n_rows > FEW);
        as_pick_noise(d, f, "bench", i, as_cell_words(as_cell_at(t, i, 0)), t->n_rows > FEW);
    }
    if (t->n_rows > MAX_PICTURES)
        as_doc_text(d, "Charts show the first %d cases; the JSON has all %d.", MAX_PICTURES, t->n_rows);
    d->detail = false;
}

const as_section as_sec_bench = {.name = "bench", .order = 14, .write = write_section};

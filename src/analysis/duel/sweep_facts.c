/* sweep_facts.c - group "sweep": which candidate wins where, where that changes, and what to choose. */
#include <math.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/trace/evidence.h"

enum { MAX_COLUMNS = 32, MAX_CROSSOVERS = 16 };

/* One column of times per candidate; the last column is the winner. */
static void values_add(assay_facts *f, as_fact_group *g, const as_sweep *s)
{
    const char *columns[MAX_COLUMNS + 4] = {as_say(f, "value|%s", s->key)};
    as_cell     cells[MAX_COLUMNS + 3];
    int         n = s->n_arms < MAX_COLUMNS ? s->n_arms : MAX_COLUMNS;
    for (int arm = 0; arm < n; arm++)
        columns[arm + 1] = as_say(f, "arm%d|%s", arm, s->arms[arm]);
    bool per_item = as_sweep_per_item(s);
    columns[n + 1] = per_item ? "winner|winner, per item" : "winner|winner";
    columns[n + 2] = per_item ? "lead|lead over the next, per item" : "lead|lead over the next";
    as_table *t =
        as_facts_table(f, g, "values", s->n_rows > 1 ? as_say(f, "Time per call by %s", s->key) : "Time per call", columns);
    for (int row = 0; row < s->n_rows; row++) {
        bool        proved;
        int         best = as_sweep_winner(s, row, &proved), second = -1;
        as_relation lead = {NAN, NAN, NAN};
        cells[0] = (as_cell){.text = s->rows[row].label};
        for (int arm = 0; arm < n; arm++) {
            const as_duel *d = &s->rows[row].duels[arm - (arm > 0)];
            cells[arm + 1] = (as_cell){.metric = arm ? as_duel_b_metric(d, "median of the blocks")
                                                     : as_number_measured(d->a_ns, d->a_lo, d->a_hi, d->n_rounds, "ns",
                                                                          "median of the blocks", "nothing was measured")};
            if (best >= 0 && arm != best && (second < 0 || as_sweep_relation(s, row, best, arm).ratio < lead.ratio))
                second = arm, lead = as_sweep_relation(s, row, best, arm);
        }
        int same = best < 0 || proved ? -1 : as_sweep_same(s, row, best);
        cells[n + 1] = (as_cell){.text = best < 0    ? "-"
                                         : proved    ? s->arms[best]
                                         : same >= 0 ? as_say(f, "no difference: %s needs less", s->arms[same])
                                                     : as_say(f, "%s (not certain)", s->arms[best])};
        cells[n + 2] =
            (as_cell){.metric = as_number_derived(lead.ratio - 1, lead.lo - 1, lead.hi - 1, 1, "ratio",
                                                  "time of the next best / time of the winner - 1", "there is no winner")};
        as_facts_row(f, t, cells);
    }
}

/* Where calls do different numbers of items: the time per call and the time per item, side by side. */
static void items_add(assay_facts *f, as_fact_group *g, const as_sweep *s)
{
    static const char *const columns[] = {
        "value|case", "arm|candidate", "items|items per call", "call|time per call", "item|time per item", "rate|items per second",
        NULL};
    const char *none = "the number of items per call is not known";
    as_table   *t = as_facts_table(f, g, "items", "Per call and per item", columns);
    for (int row = 0; row < s->n_rows; row++)
        for (int arm = 0; arm < s->n_arms; arm++) {
            double ns = as_sweep_ns(s, row, arm), items = as_sweep_items(s, row, arm);
            as_facts_row(
                f, t,
                (as_cell[]){
                    {.text = s->rows[row].label},
                    {.text = s->arms[arm]},
                    {.metric = as_number_counted(items, "1", "batch", none)},
                    {.metric = arm ? as_duel_b_metric(&s->rows[row].duels[arm - 1], "median of the blocks")
                                   : as_number_measured(ns, NAN, NAN, s->rows[row].duels[0].n_rounds, "ns", "median of the blocks",
                                                        "nothing was measured")},
                    {.metric = as_number_derived(ns / items, NAN, NAN, 1, "ns", "time per call / items per call", none)},
                    {.metric = as_number_derived(1e9 * items / ns, NAN, NAN, 1, "1/s", "items per call / time per call", none)}});
        }
    as_facts_find(
        f, g, AS_LEVEL_NOTE,
        "The winner has the least time per item, because the numbers of items per call differ; the advice for latency uses "
        "the time per call.");
}

static const char *around(assay_facts *f, const as_crossover *c)
{
    if (c->open_lo && c->open_hi)
        return "anywhere in the range measured";
    if (c->open_lo || c->open_hi)
        return as_say(f, "%s %.3g", c->open_lo ? "up to" : "from", c->open_lo ? c->hi : c->lo);
    return as_say(f, "between %.3g and %.3g", c->lo, c->hi);
}

/* No crossover: one candidate won everywhere, or none did for certain. */
static void steady_winner_find(assay_facts *f, as_fact_group *g, const as_sweep *s)
{
    const char *key = s->key && !strcmp(s->key, "batch") ? "batch size" : s->key;
    bool        proved = false;
    int         winner = as_sweep_winner(s, 0, &proved);
    for (int row = 1; proved && row < s->n_rows; row++)
        proved = as_sweep_winner(s, row, &proved) == winner && proved;
    if (proved && winner >= 0)
        as_facts_find(f, g, AS_LEVEL_GOOD, "%s won at every %s.", s->arms[winner], key);
    else
        as_facts_find(f, g, AS_LEVEL_NOTE, "No %s was found where the winner changes.", key);
}

static void crossovers_add(assay_facts *f, as_fact_group *g, const as_sweep *s)
{
    static const char *const columns[] = {"from|below", "to|above", "at|crossover", "range|range", "proved|certain on both sides",
                                          NULL};
    as_crossover             found[MAX_CROSSOVERS];
    int                      n = as_sweep_crossovers(s, found, MAX_CROSSOVERS);
    as_table                *t = as_facts_table(f, g, "crossovers", "Where the winner changes", columns);
    for (int i = 0; i < n; i++) {
        const as_crossover *c = &found[i];
        bool                placed = isfinite(c->at);
        const char         *range =
            placed ? around(f, c) : as_say(f, "between %s and %s", s->rows[c->row].label, s->rows[c->row + 1].label);
        as_facts_row(
            f, t,
            (as_cell[]){{.text = s->arms[c->from]},
                        {.text = s->arms[c->to]},
                        {.metric = as_number_derived(c->at, c->lo, c->hi, 1, "1", "equal times, interpolated in logarithms",
                                                     "the values are not numbers")},
                        {.text = range},
                        {.text = c->proved ? "yes" : "no"}});
        if (placed && c->open_lo && c->open_hi)
            as_facts_find(f, g, AS_LEVEL_WARN,
                          "From %s to %s: the estimates cross at %s %.3g, but neither side has a certain winner.", s->arms[c->from],
                          s->arms[c->to], s->key, c->at);
        else if (placed)
            as_facts_find(f, g, c->proved ? AS_LEVEL_GOOD : AS_LEVEL_WARN, "From %s to %s: the winner changes at %s %.3g (%s%s).",
                          s->arms[c->from], s->arms[c->to], s->key, c->at, range, c->proved ? "" : "; not certain");
        else
            as_facts_find(f, g, AS_LEVEL_WARN, "From %s to %s: the winner changes %s.", s->arms[c->from], s->arms[c->to], range);
    }
    if (!n && s->n_rows > 1)
        steady_winner_find(f, g, s);
}

static void guide_add(assay_facts *f, as_fact_group *g, const as_sweep *s)
{
    static const char *const columns[] = {"use|for",       "choice|take", "score|gives", "lead|lead over the rest",
                                          "proved|proved", "why|because", NULL};
    as_table                *t = as_facts_table(f, g, "guide", "What to take", columns);
    for (int p = 0; p < AS_N_PURPOSES; p++) {
        if (!as_sweep_answers(s, (as_purpose)p))
            continue;
        as_sweep_choice c = as_sweep_choose(s, (as_purpose)p);
        bool            has = c.row >= 0;
        as_facts_row(
            f, t,
            (as_cell[]){{.text = as_purpose_text((as_purpose)p)},
                        {.text = !has             ? "-"
                                 : s->n_rows == 1 ? s->arms[c.arm]
                                                  : as_say(f, "%s, %s", s->arms[c.arm], s->rows[c.row].label)},
                        {.metric = as_number_derived(c.score, NAN, NAN, 1, c.unit, as_purpose_criterion((as_purpose)p), c.why)},
                        {.metric = as_number_derived(c.lead, NAN, NAN, 1, "ratio", "against the best other candidate",
                                                     has && !c.same ? "there is no other candidate" : c.why)},
                        {.text = !has       ? "-"
                                 : c.same   ? "no difference"
                                 : c.proved ? "yes"
                                            : "no"},
                        {.text = c.why}});
    }
}

/* One line per candidate for the chart.  Its values and bounds are ratios to the first candidate, whose own line is flat at 1. */
static void series_add(assay_facts *f, as_fact_group *g, const as_sweep *s)
{
    double *x = AS_TAKE(&f->arena, double, s->n_rows), *y = AS_TAKE(&f->arena, double, s->n_rows),
           *lo = AS_TAKE(&f->arena, double, s->n_rows), *hi = AS_TAKE(&f->arena, double, s->n_rows);
    for (int arm = 0; x && y && lo && hi && arm < s->n_arms; arm++) {
        for (int row = 0; row < s->n_rows; row++) {
            as_relation r = as_sweep_relation(s, row, 0, arm);
            x[row] = isfinite(s->rows[row].value) ? s->rows[row].value : row + 1;
            y[row] = r.ratio, lo[row] = r.lo, hi[row] = r.hi;
        }
        const struct {
            const char *key;
            double     *values;
        } lines[] = {{"ratio", y}, {"lo", lo}, {"hi", hi}};
        for (size_t i = 0; i < AS_COUNT(lines); i++)
            as_facts_series(f, g,
                            &(as_series){.key = as_say(f, "%s.%d", lines[i].key, arm),
                                         .label = s->arms[arm],
                                         .x_unit = s->key,
                                         .y_unit = "ratio",
                                         .kind = ASSAY_DERIVED,
                                         .source = as_sweep_per_item(s) ? "time per item / time per item of the first candidate"
                                                                        : "time / time of the first candidate",
                                         .x = x,
                                         .y = lines[i].values,
                                         .n = (size_t)s->n_rows});
    }
}

void as_sweep_add(assay_facts *f, const as_sweep *s)
{
    if (s->n_arms < 2 || s->n_rows < 1)
        return;
    as_fact_group *g = as_facts_group(f, "sweep", "Sweep");
    values_add(f, g, s);
    as_sweep_ranges_add(f, g, s);
    if (as_sweep_per_item(s))
        items_add(f, g, s);
    crossovers_add(f, g, s);
    guide_add(f, g, s);
    series_add(f, g, s);
}

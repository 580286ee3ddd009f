/* br_league.c - the first screen of candidates that learned: which ends with the lower loss, by how much, and how each came there. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/brief.h"
#include "report/pick.h"

enum { COLUMNS = 40, MOST_CURVES = 4, OTHER_LINES = 10, WRAPPED = 68, MOST_NAME = 26 };

static bool fits(const assay_facts *f) { return as_facts_group_find(f, "league") != NULL; }

static const char *note_of(const assay_facts *f, const char *key)
{
    const char *text = as_facts_note_find(f, key);
    return text ? text : "";
}

static const char *short_name(as_brief *b, const char *name)
{
    return strlen(name) <= MOST_NAME ? name : as_brief_say(b, "%.*s...", MOST_NAME - 3, name);
}

/* "0.0321 +-0.0011" */
static const char *spread(as_brief *b, const assay_metric *m)
{
    char half[32];
    if (!m || !as_metric_has(m))
        return "-";
    return isfinite(m->hi) ? as_brief_say(b, "%s ±%s", as_brief_value(b, m), as_show(half, sizeof half, m->hi - m->value, "1"))
                           : as_brief_value(b, m);
}

static void candidates_add(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "league", "candidates");
    if (!t)
        return;
    int               score = as_column_find(t, "score");
    bool              has_val = !strcmp(note_of(f, "league.of"), "validation loss");
    const char *const with[] = {"Candidate",
                                "validation loss",
                                "training loss",
                                score >= 0 ? t->columns[score].label : "score",
                                as_brief_say(b, "%s time", note_of(f, "league.clock")),
                                NULL};
    const char *const without[] = {"Candidate", "training loss", "at equal time", with[4], NULL};
    as_brief_table   *to = as_brief_table_add(b, has_val ? with : without);
    for (int i = 0; to && i < t->n_rows; i++) {
        const char   *name = as_words_at(t, i, "name");
        as_brief_row *row = as_brief_row_add(b, to, short_name(b, name));
        int           k = 1;
        if (has_val)
            row->cells[k++] = spread(b, as_metric_at(t, i, "val_loss"));
        row->cells[k++] = has_val ? as_brief_value(b, as_metric_at(t, i, "loss")) : spread(b, as_metric_at(t, i, "loss"));
        row->cells[k++] = as_brief_value(b, as_metric_at(t, i, has_val ? "score" : "at_time"));
        row->cells[k] = as_brief_value(b, as_metric_at(t, i, "time"));
        if (as_value_at(t, i, "diverged") > 0)
            row->role = AS_CHART_BAD;
        else if (!strcmp(name, note_of(f, "league.winner")))
            row->role = AS_CHART_GOOD;
    }
}

/* The course of each loss in characters, all on one logarithmic scale. */
static void curves_add(as_brief *b, const assay_facts *f)
{
    static const char *const eighths[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const as_fact_group     *g = as_facts_group_find(f, "league");
    double                   lo = INFINITY, hi = -INFINITY;
    int                      n = 0;
    for (int i = 0; i < g->n_series; i++)
        for (size_t k = 0; k < g->series[i].n && !strncmp(g->series[i].key, "step.", 5); k++) {
            double y = g->series[i].y[k];
            lo = y > 0 ? fmin(lo, log(y)) : lo;
            hi = y > 0 ? fmax(hi, log(y)) : hi;
        }
    for (int i = 0; i < g->n_series && n < MOST_CURVES && hi > lo; i++) {
        const as_series *s = &g->series[i];
        as_text          line = {0};
        if (strncmp(s->key, "step.", 5) || s->n < 2)
            continue;
        for (size_t k = 0; k < s->n && k < COLUMNS; k++)
            as_text_add(&line, s->y[k] > 0 ? eighths[(int)(7.999 * (log(s->y[k]) - lo) / (hi - lo))] : eighths[0]);
        if (!line.failed) {
            as_brief_number_add(b, short_name(b, s->label), NULL, as_brief_say(b, "%s", line.data), "");
            b->numbers[b->n_numbers - 1].drawn = true;
            n++;
        }
        as_text_drop(&line);
    }
}

static void headline_make(as_brief *b, const assay_facts *f, const as_table *t)
{
    const char *winner = note_of(f, "league.winner"), *lowest = note_of(f, "league.lowest"), *of = note_of(f, "league.of");
    bool        same = t && t->n_rows;
    for (int i = 0; same && i < t->n_rows; i++)
        same = !strcmp(as_words_at(t, i, "verdict"), "same");
    const char *stopped = note_of(f, "league.stopped");
    b->level = *winner && !*stopped ? AS_LEVEL_GOOD : *stopped ? AS_LEVEL_WARN : AS_LEVEL_NOTE;
    if (*stopped && *winner)
        b->headline = as_brief_say(b, "Stopped after round %s: so far %s has the lowest %s.", stopped, winner, of);
    else if (*stopped && *lowest)
        b->headline = as_brief_say(b, "Stopped after round %s: cannot tell yet which has the lowest %s.", stopped, of);
    else if (*winner)
        b->headline = as_brief_say(b, "%s ends with the lowest %s.", winner, of);
    else if (same)
        b->headline = as_brief_say(b, "All end with the same %s.", of);
    else if (*lowest)
        b->headline = as_brief_say(b, "Cannot tell yet which ends with the lowest %s.", of);
    else
        b->headline = "Every candidate diverged with some seed.";
}

/* Those of the lowest first, as many as the screen has lines for; that a candidate diverged is said once. */
static void verdicts_add(as_brief *b, const assay_facts *f, const as_table *t)
{
    const char *lowest = note_of(f, "league.lowest");
    int left = AS_BRIEF_LINES - OTHER_LINES - (b->n_numbers ? b->n_numbers + 1 : 0) - (b->n_tables ? b->tables[0].n_rows : 0);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->n_rows && b->n_texts < AS_BRIEF_TEXTS; i++) {
            int  lines = (int)strlen(as_words_at(t, i, "text")) / WRAPPED + 1;
            bool of_lowest = !strcmp(as_words_at(t, i, "a"), lowest) || !strcmp(as_words_at(t, i, "b"), lowest), is_new = true;
            for (int k = 0; k < b->n_texts; k++)
                is_new &= strcmp(b->texts[k], as_words_at(t, i, "text")) != 0;
            if (is_new && of_lowest == !pass && lines <= left) {
                as_brief_text_add(b, as_words_at(t, i, "text"));
                left -= lines;
            }
        }
}

static void make(as_brief *b, const assay_facts *f)
{
    const as_table     *t = as_facts_table_find(f, "league", "verdicts");
    const assay_metric *seeds = as_metric_find(f, "league.seeds"), *confidence = as_metric_find(f, "league.confidence");
    b->title = as_brief_say(b, "%s by %s", note_of(f, AS_NOTE_NAME), note_of(f, "league.key"));
    b->settings = as_brief_say(b, "%s · %s seeds · intervals %s", note_of(f, "league.data"), as_brief_value(b, seeds),
                               as_brief_percent(b, confidence ? confidence->value : (double)NAN));
    headline_make(b, f, t);
    if (t && t->n_rows <= MOST_CURVES * (MOST_CURVES - 1) / 2)
        curves_add(b, f);
    candidates_add(b, f);
    if (t)
        verdicts_add(b, f, t);
    as_brief_hint_add(b, "--report detailed", "every verdict and run");
    as_brief_hint_add(b, "--html FILE", "curves");
    as_brief_hint_add(b, "--seeds N", "narrower intervals");
}

const as_brief_kind as_br_league = {.name = "league", .order = 3, .fits = fits, .make = make};

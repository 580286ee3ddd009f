/* br_noise.c - the first screen of noise: how small a change this machine can detect in a given time, and what disturbs it. */
#include <math.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

static bool fits(const assay_facts *f) { return as_facts_table_find(f, "noise", "best"); }

static const char *percent(as_brief *b, double share) { return isfinite(share) ? as_brief_say(b, "%.2g %%", 100 * share) : "n/a"; }

static void best_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Smallest detectable change", "in 1 s", "in 5 s", "in 30 s", "clock", "block", NULL};
    as_brief_table          *to = as_brief_table_add(b, columns);
    to->left[4] = true;
    for (int i = 0; i < t->n_rows; i++) {
        as_brief_row *row = as_brief_row_add(b, to, as_brief_say(b, "%s-bound work", as_words_at(t, i, "load")));
        row->cells[1] = percent(b, as_value_at(t, i, "in_1s"));
        row->cells[2] = percent(b, as_value_at(t, i, "in_5s"));
        row->cells[3] = percent(b, as_value_at(t, i, "in_30s"));
        row->cells[4] = as_words_at(t, i, "clock");
        row->cells[5] = as_brief_value(b, as_metric_at(t, i, "block"));
    }
}

/* The statement about the machine uses the worse of its loads. */
static void headline_make(as_brief *b, const as_table *t)
{
    double worst = 0;
    for (int i = 0; i < t->n_rows; i++)
        worst = fmax(worst, as_value_at(t, i, "in_1s"));
    if (worst > 0)
        b->headline = as_brief_say(b, "This machine can tell %s apart in 1 s.", percent(b, worst));
    else
        b->headline = "Too little was measured: give a longer --budget.";
}

static void checks_add(as_brief *b, const assay_facts *f)
{
    static const char *const keys[][2] = {{"noise.preempted", "other work on this CPU"},
                                          {"noise.dram", "a neighbour on the memory"},
                                          {"noise.frequency", "a slower core"},
                                          {"noise.stolen", "time taken by the hypervisor"}};
    bool                     any = false;
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        const assay_metric *m = as_metric_find(f, keys[i][0]);
        if (!m || m->value < .05)
            continue;
        as_brief_check_add(b, AS_LEVEL_WARN, as_brief_say(b, "%s in %.0f %% of the blocks", keys[i][1], 100 * m->value));
        any = true;
    }
    if (!any)
        as_brief_check_add(b, AS_LEVEL_GOOD, "nothing affected more than 5 % of the blocks");
    b->trust = any ? "Busy machine" : "Idle machine";
}

static void make(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "noise", "best");
    const char     *started = as_facts_note_find(f, "trace.started");
    b->settings = started ? started : "";
    b->dated = started != NULL;
    headline_make(b, t);
    best_add(b, t);
    as_brief_text_add(b, "Half the change takes four times as long: give assay compare and assay check a --budget to match.");
    checks_add(b, f);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--budget 60s", "more exact");
    as_brief_hint_add(b, "--html FILE", "page");
}

const as_brief_kind as_br_noise = {.name = "noise", .order = 20, .fits = fits, .make = make};

/* br_train_run.c - the first screen of a training run: what it learned, how fast, where the time went, and whether it went well. */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/text.h"
#include "report/brief.h"
#include "report/pick.h"

enum { MOST_ROWS = 6 };

static bool fits(const assay_facts *f) { return as_facts_group_find(f, "train"); }

static void time_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Where the time went", "time", "share", NULL};
    as_brief_table          *to = as_brief_table_add(b, columns);
    if (!to)
        return;
    to->bars = true;
    double least = .005, shares[16];
    size_t n = 0;
    for (int i = 0; i < t->n_rows && n < AS_COUNT(shares); i++)
        if (as_value_at(t, i, "share") >= least)
            shares[n++] = as_value_at(t, i, "share");
    as_sort(shares, n);
    least = n > MOST_ROWS ? shares[n - MOST_ROWS] : least; /* those that matter, in their order */
    for (int i = 0; i < t->n_rows; i++) {
        double share = as_value_at(t, i, "share");
        if (!(share >= least))
            continue;
        as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "name"));
        row->bar = share;
        row->cells[1] = as_brief_value(b, as_metric_at(t, i, "time"));
        row->cells[2] = as_brief_percent(b, share);
    }
}

static const char *per_second(as_brief *b, const assay_metric *m)
{
    char number[32];
    return as_brief_say(b, "%s samples/s", m ? as_show(number, sizeof number, m->value, "1") : "n/a");
}

static void numbers_add(as_brief *b, const assay_facts *f)
{
    const assay_metric *val = as_metric_find(f, "train.val_loss"), *best = as_metric_find(f, "train.best_val_loss");
    const assay_metric *loss = as_metric_find(f, "train.epoch_loss"), *last = as_metric_find(f, "train.last_loss");
    const assay_metric *first = as_metric_find(f, "train.first_loss"), *score = as_metric_find(f, "train.score");
    const assay_metric *speed = as_metric_find(f, "train.samples_per_s"), *step = as_metric_find(f, "train.step_samples_per_s");
    const assay_metric *memory = as_metric_find(f, "train.memory"), *resident = as_metric_find(f, "train.resident");
    const char         *name = as_facts_note_find(f, "train.score");
    if (score) {
        char label[32];
        snprintf(label, sizeof label, "%s", name && *name ? name : "score");
        label[0] = label[0] >= 'a' && label[0] <= 'z' ? (char)(label[0] - 'a' + 'A') : label[0];
        as_brief_number_add(b, as_brief_say(b, "%s", label), score, as_brief_value(b, score), score->source);
    }
    if (val)
        as_brief_number_add(b, "Validation loss", val, as_brief_value(b, val),
                            best ? as_brief_say(b, "lowest %s", as_brief_value(b, best)) : "");
    loss = loss ? loss : last;
    as_brief_number_add(b, "Loss", loss, as_brief_value(b, loss),
                        first ? as_brief_say(b, "began at %s", as_brief_value(b, first)) : "");
    as_brief_number_add(b, "Speed", speed, per_second(b, speed),
                        step ? as_brief_say(b, "%s in the steps alone", per_second(b, step)) : "");
    const assay_metric *fill = as_metric_find(f, "train.loader_fill"), *hidden = as_metric_find(f, "train.overlap");
    if (fill && hidden)
        as_brief_number_add(b, "Loader", fill, as_brief_value(b, fill),
                            as_brief_say(b, "%s of it hidden behind steps and evaluation", as_brief_percent(b, hidden->value)));
    as_brief_number_add(b, "Memory", memory, as_brief_value(b, memory),
                        resident ? as_brief_say(b, "of a step; the process %s", as_brief_value(b, resident)) : "of a step");
}

static void checks_add(as_brief *b, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "train");
    const assay_metric  *wait = as_metric_find(f, "train.wait_share"), *done = as_metric_find(f, "train.done");
    bool                 drift = false;
    for (int i = 0; i < g->n_findings; i++) {
        as_brief_check_add(b, g->findings[i].level, g->findings[i].text);
        drift |= g->findings[i].level >= AS_LEVEL_WARN;
    }
    if (done && done->value < 1 && !g->n_findings)
        as_brief_check_add(b, AS_LEVEL_NOTE, as_brief_say(b, "%s of the run is done", as_brief_percent(b, done->value)));
    if (wait && wait->value > .1)
        as_brief_try_add(b, (as_brief_try){.what = "--loader threads=2,prefetch=8",
                                           .why = as_brief_say(b, "the steps waited for data in %s of the time",
                                                               as_brief_percent(b, wait->value)),
                                           .effect = as_brief_say(b, "up to -%s", as_brief_percent(b, wait->value))});
    if (!drift)
        as_brief_check_add(b, AS_LEVEL_GOOD, "every number finite, time and memory do not creep up");
}

/* What it learned, by what it was not taught if there was such data: "accuracy 97.1 %" or "validation loss 0.12". */
static const char *result(as_brief *b, const assay_facts *f)
{
    const assay_metric *val = as_metric_find(f, "train.val_loss"), *score = as_metric_find(f, "train.score");
    const assay_metric *loss = as_metric_find(f, "train.epoch_loss");
    const char         *name = as_facts_note_find(f, "train.score");
    if (score && name && *name)
        return as_brief_say(b, "%s %s", name, as_brief_value(b, score));
    loss = val ? val : loss ? loss : as_metric_find(f, "train.last_loss");
    return as_brief_say(b, "%s %s", val ? "validation loss" : "loss", as_brief_value(b, loss));
}

static void make(as_brief *b, const assay_facts *f)
{
    const char         *name = as_facts_note_find(f, AS_NOTE_NAME), *settings = as_facts_note_find(f, AS_NOTE_SETTINGS);
    const char         *optimizer = as_facts_note_find(f, "train.optimizer");
    const assay_metric *updates = as_metric_find(f, "train.updates"), *time = as_metric_find(f, "train.time");
    const as_table     *t = as_facts_table_find(f, "train", "time");
    b->title = name ? name : "a training run";
    b->settings = as_brief_say(b, "%s%s%s", optimizer ? optimizer : "", optimizer && settings && *settings ? " · " : "",
                               settings ? settings : "");
    b->headline =
        as_brief_say(b, "Trained for %s updates in %s: %s.", as_brief_value(b, updates), as_brief_value(b, time), result(b, f));
    b->level = AS_LEVEL_NOTE;
    numbers_add(b, f);
    if (t)
        time_add(b, t);
    checks_add(b, f);
    as_brief_trust_make(b);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "curves");
}

const as_brief_kind as_br_train_run = {.name = "train_run", .order = 4, .fits = fits, .make = make};

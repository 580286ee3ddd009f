/* br_tune.c - the first screen of tune: what to use, and why. */
#include <math.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

static bool fits(const assay_facts *f) { return as_facts_group_find(f, "tune") != NULL && as_facts_note_find(f, "tune.what"); }

static double value_of(const assay_facts *f, const char *key)
{
    const assay_metric *m = as_facts_metric(f, key);
    return m && as_metric_has(m) ? m->value : (double)NAN;
}

static const char *show(as_brief *b, double value, const char *unit)
{
    char buf[64];
    return isfinite(value) ? as_brief_say(b, "%s", as_show(buf, sizeof buf, value, unit)) : "-";
}

static void batch_make(as_brief *b, const assay_facts *f)
{
    static const char *const columns[] = {"Batch size", "it", "memory", "measured", "time", "samples/s", NULL};
    const as_table          *t = as_facts_table_find(f, "tune", "probes");
    const char              *prior = as_facts_note_find(f, "tune.prior");
    double                   largest = value_of(f, "tune.largest");
    b->headline = as_brief_say(b, "Use batch size %.0f.", value_of(f, "tune.batch"));
    as_brief_number_add(b, "Largest", NULL, isfinite(largest) ? as_brief_say(b, "%.0f", largest) : "65536 or more",
                        as_brief_say(b, "in %s, by the planner", show(b, value_of(f, "tune.budget"), "byte")));
    if (isfinite(value_of(f, "tune.knee")))
        as_brief_number_add(b, "Knee", NULL, as_brief_say(b, "%.0f", value_of(f, "tune.knee")),
                            as_brief_say(b, "95 %% of the throughput of ever larger ones, %s samples/s",
                                         show(b, 1e9 / value_of(f, "tune.per_item"), "1")));
    if (isfinite(value_of(f, "tune.fixed")))
        as_brief_number_add(b, "A step", NULL,
                            as_brief_say(b, "%s + %s per example", show(b, value_of(f, "tune.fixed"), "ns"),
                                         show(b, value_of(f, "tune.per_item"), "ns")),
                            as_brief_say(b, "probes are within %s of the line", as_brief_percent(b, value_of(f, "tune.worst"))));
    if (prior)
        as_brief_number_add(b, "Guides say", NULL, prior, "careful, usual, daring");
    as_brief_table *to = t ? as_brief_table_add(b, columns) : NULL;
    for (int i = 0; to && i < t->n_rows; i++) {
        as_brief_row *row = as_brief_row_add(b, to, as_brief_say(b, "%.0f", as_value_at(t, i, "batch")));
        row->cells[1] = as_words_at(t, i, "state");
        row->cells[2] = show(b, as_value_at(t, i, "planned"), "byte");
        row->cells[3] = show(b, as_value_at(t, i, "grew"), "byte");
        row->cells[4] = show(b, as_value_at(t, i, "time"), "ns");
        row->cells[5] = show(b, as_value_at(t, i, "rate"), "1");
        row->role = strcmp(as_words_at(t, i, "state"), "fits") ? AS_CHART_WARN : AS_CHART_MAIN;
    }
}

static void threads_make(as_brief *b, const assay_facts *f)
{
    static const char *const columns[] = {"Threads", "time", "samples/s", "speed-up", "Amdahl", NULL};
    const as_table          *t = as_facts_table_find(f, "tune", "threads");
    b->headline = as_brief_say(b, "Use %.0f thread%s.", value_of(f, "tune.threads"), value_of(f, "tune.threads") > 1 ? "s" : "");
    if (isfinite(value_of(f, "tune.serial")))
        as_brief_number_add(
            b, "Serial", NULL, as_brief_percent(b, value_of(f, "tune.serial")),
            as_brief_say(b, "of a step by Amdahl's law: at most %.1fx", 1 / fmax(value_of(f, "tune.serial"), 1e-3)));
    as_brief_table *to = t ? as_brief_table_add(b, columns) : NULL;
    for (int i = 0; to && i < t->n_rows; i++) {
        as_brief_row *row = as_brief_row_add(b, to, as_brief_say(b, "%.0f", as_value_at(t, i, "threads")));
        row->cells[1] = show(b, as_value_at(t, i, "time"), "ns");
        row->cells[2] = show(b, as_value_at(t, i, "rate"), "1");
        row->cells[3] = as_brief_say(b, "%.2fx", as_value_at(t, i, "speedup"));
        row->cells[4] = isfinite(as_value_at(t, i, "fit")) ? as_brief_say(b, "%.2fx", as_value_at(t, i, "fit")) : "-";
    }
}

static void rate_make(as_brief *b, const assay_facts *f)
{
    enum { MAX_ROWS = 12 };
    static const char *const columns[] = {"Learning rate", "smoothed loss", NULL};
    const as_table          *t = as_facts_table_find(f, "tune", "rates");
    double                   rate = value_of(f, "tune.rate"), lowest = INFINITY;
    b->headline = isfinite(rate) ? as_brief_say(b, "Use learning rate %.2g: the loss falls fastest there.", rate)
                                 : "The loss did not fall at any rate.";
    as_brief_number_add(b, "Lowest loss", NULL, as_brief_say(b, "at %.2g", value_of(f, "tune.rate_lowest")),
                        "a larger rate than this is too large");
    as_brief_number_add(b, "Ended", NULL, as_brief_say(b, "at %.2g", value_of(f, "tune.rate_end")),
                        "where the loss was four times its best, or not finite, or the range");
    as_brief_table *to = t ? as_brief_table_add(b, columns) : NULL;
    double          most = 0;
    for (int i = 0; t && i < t->n_rows; i++)
        most = fmax(most, fmin(as_value_at(t, i, "smooth"), 4 * fmin(lowest, as_value_at(t, i, "smooth")))),
        lowest = fmin(lowest, as_value_at(t, i, "smooth"));
    if (to)
        to->bars = true;
    int every = t && t->n_rows > MAX_ROWS ? t->n_rows / MAX_ROWS + 1 : 1;
    for (int i = 0; to && i < t->n_rows; i += every) {
        as_brief_row *row = as_brief_row_add(b, to, as_brief_say(b, "%.2g", as_value_at(t, i, "rate")));
        row->cells[1] = as_brief_say(b, "%.4g", as_value_at(t, i, "smooth"));
        row->bar = most > 0 ? fmin(as_value_at(t, i, "smooth") / most, 1) : 0;
    }
}

/* "+20 %" with one decimal where it is small; "-" without a number. */
static const char *change(as_brief *b, double share)
{
    return !isfinite(share) ? "-" : as_brief_say(b, fabs(share) < .0995 ? "%+.1f %%" : "%+.0f %%", 100 * share);
}

/* What a verdict is, to a person. */
static const char *verdict_say(const char *verdict)
{
    return !strcmp(verdict, "unresolved") ? "not proved" : !strcmp(verdict, "first") ? "" : verdict;
}

static as_chart_role role_of(const char *verdict)
{
    return !strcmp(verdict, "slower") ? AS_CHART_WARN : !strcmp(verdict, "faster") ? AS_CHART_GOOD : AS_CHART_MAIN;
}

static void losses_make(as_brief *b, const assay_facts *f)
{
    static const char *const columns[] = {"Loss, same examples", "loss", "gap", "largest gap", "skipped", NULL};
    const as_table          *t = as_facts_table_find(f, "tune", "losses");
    as_brief_table          *to = t ? as_brief_table_add(b, columns) : NULL;
    for (int i = 0; to && i < t->n_rows; i++) {
        as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "name"));
        double        loss = as_value_at(t, i, "loss"), gap = as_value_at(t, i, "gap");
        row->cells[1] = isfinite(loss) ? as_brief_say(b, "%.5g", loss) : "-";
        row->cells[2] = i && isfinite(gap) ? as_brief_say(b, "%+.2g", gap) : "";
        row->cells[3] = i ? change(b, as_value_at(t, i, "most")) : "";
        row->cells[4] = as_brief_say(b, "%.0f", as_value_at(t, i, "skips"));
    }
}

/* Of the first other way that has them: the layers whose time changes most. */
static void layers_make(as_brief *b, const assay_facts *f, int n_rows)
{
    const as_table *ways = as_facts_table_find(f, "tune", "ways"), *t = NULL;
    const char     *name = "";
    for (int i = 1; ways && i < ways->n_rows && !t; i++) {
        name = as_words_at(ways, i, "name");
        t = as_facts_table_find(f, "tune", as_brief_say(b, "layers.%s", name));
    }
    if (!t)
        return;
    const char *const columns[] = {as_brief_say(b, "Layers, %s", name), "before", "now", "change", "it is", "bytes less", NULL};
    as_brief_table   *to = as_brief_table_add(b, columns);
    for (int i = 0; to && i < t->n_rows && i < n_rows; i++) {
        as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "name"));
        row->cells[1] = show(b, as_value_at(t, i, "a_time"), "ns");
        row->cells[2] = show(b, as_value_at(t, i, "b_time"), "ns");
        row->cells[3] = change(b, as_value_at(t, i, "change"));
        row->cells[4] = verdict_say(as_words_at(t, i, "verdict"));
        row->cells[5] = show(b, as_value_at(t, i, "less"), "byte");
        row->role = role_of(as_words_at(t, i, "verdict"));
    }
    if (to && t->n_rows > n_rows)
        to->note = as_brief_say(b, "%d more: --report detailed", t->n_rows - n_rows);
}

static void ways_make(as_brief *b, const assay_facts *f, const char *first, bool predicted)
{
    const char *const columns[] = {first, "memory", "measured", "time", "change", "it is", predicted ? "predicted" : NULL, NULL};
    const as_table   *t = as_facts_table_find(f, "tune", "ways");
    as_brief_table   *to = t ? as_brief_table_add(b, columns) : NULL;
    b->headline = as_facts_note_find(f, "tune.answer");
    for (int i = 0; to && i < t->n_rows; i++) {
        as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "name"));
        row->cells[1] = show(b, as_value_at(t, i, "planned"), "byte");
        row->cells[2] = show(b, as_value_at(t, i, "grew"), "byte");
        row->cells[3] = show(b, as_value_at(t, i, "time"), "ns");
        row->cells[4] = i ? change(b, as_value_at(t, i, "ratio") - 1) : "";
        row->cells[5] = verdict_say(as_words_at(t, i, "verdict"));
        if (predicted)
            row->cells[6] = show(b, as_value_at(t, i, "predicted"), "ns");
        row->role = role_of(as_words_at(t, i, "verdict"));
    }
}

static void make(as_brief *b, const assay_facts *f)
{
    const char *what = as_facts_note_find(f, "tune.what"), *name = as_facts_note_find(f, AS_NOTE_NAME);
    b->title = as_brief_say(b, "tune: %s", name ? name : "");
    if (!strcmp(what, "batch"))
        batch_make(b, f);
    else if (!strcmp(what, "lr"))
        rate_make(b, f);
    else if (!strcmp(what, "recompute")) {
        ways_make(b, f, "Computing again", true);
    } else if (!strcmp(what, "precision")) {
        ways_make(b, f, "Precision", false);
        losses_make(b, f);
        layers_make(b, f, b->n_tables > 1 ? 3 : 6);
    } else
        threads_make(b, f);
    const as_fact_group *g = as_facts_group_find(f, "tune");
    for (int i = 0; i < g->n_findings; i++)
        as_brief_text_add(b, g->findings[i].text);
    as_brief_hint_add(b, "--html FILE", "page with the curve");
    as_brief_hint_add(b, "--json FILE", "every number");
}

const as_brief_kind as_br_tune = {.name = "tune", .order = 22, .fits = fits, .make = make};

/* br_bench.c - the first screen of bench: one row per case, which cases could not be measured, and what disturbed the others. */
#include <math.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MAX_CASES = 8 };

static bool fits(const assay_facts *f) { return as_facts_table_find(f, "bench", "cases"); }

static double count_of(const assay_facts *f, const char *key)
{
    const assay_metric *m = as_metric_find(f, key);
    return m ? m->value : 0;
}

/* Work per second of a case: flops, or bytes for cases without flops. */
static const assay_metric *rate_at(const as_table *t, int row)
{
    const assay_metric *flops = as_metric_at(t, row, "flop_rate"), *bytes = as_metric_at(t, row, "byte_rate");
    return flops && flops->value > 0 ? flops : bytes ? bytes : as_metric_at(t, row, "ops");
}

/* The word for readers that describes the samples of a case. */
static const char *trust_of(const char *noise)
{
    return !strcmp(noise, "quiet") ? "ok" : !strcmp(noise, "noisy") ? "busy" : !strcmp(noise, "suspect") ? "not steady" : noise;
}

static void case_row(as_brief *b, as_brief_table *to, const as_table *t, int i)
{
    const assay_metric *rate = rate_at(t, i), *share = as_metric_at(t, i, "of_roof"), *half = as_metric_at(t, i, "half_width"),
                       *median = as_metric_at(t, i, "median");
    as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "case"));
    row->cells[1] = median ? as_brief_value(b, median) : "-";
    row->cells[2] = half ? as_brief_percent(b, half->value) : "-";
    row->cells[3] = rate ? as_brief_value(b, rate) : "-";
    row->cells[4] = share ? as_brief_percent(b, share->value) : "-";
    row->cells[5] = median ? trust_of(as_words_at(t, i, "noise")) : as_words_at(t, i, "state");
    row->role = median ? AS_CHART_MAIN : AS_CHART_BAD;
}

static void cases_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Case", "median", "+/-", "rate", "of limit", "trust", NULL};
    int                      shown = t->n_rows > MAX_CASES + 1 ? MAX_CASES : t->n_rows;
    as_brief_table          *to = as_brief_table_add(b, columns);
    to->left[5] = true;
    for (int i = 0; i < shown; i++)
        case_row(b, to, t, i);
    if (shown < t->n_rows)
        to->note = as_brief_say(b, "%d more: --report detailed", t->n_rows - shown);
}

/* One case: the screen shows only its numbers. */
static void numbers_add(as_brief *b, const as_table *t)
{
    const assay_metric *median = as_metric_at(t, 0, "median"), *p95 = as_metric_at(t, 0, "p95"), *rate = rate_at(t, 0),
                       *share = as_metric_at(t, 0, "of_roof"), *error = as_metric_at(t, 0, "error");
    const char *aside = as_brief_interval(b, median);
    if (p95)
        aside = as_brief_say(b, "%s%sp95 %s", aside, *aside ? "   " : "", as_brief_value(b, p95));
    as_brief_number_add(b, "Time", median, NULL, aside);
    if (rate)
        as_brief_number_add(b, "Rate", rate, NULL,
                            share ? as_brief_say(b, "%s of what this device can do", as_brief_percent(b, share->value))
                                  : "its limit is not known");
    if (error)
        as_brief_number_add(b, "Error", error, NULL, "against the reference code");
}

static void checks_add(as_brief *b, const assay_facts *f, const as_table *t)
{
    int    n_compared = 0;
    double missing = count_of(f, "bench.not_measured"), noisy = count_of(f, "bench.noisy"), n = t->n_rows - missing;
    for (int i = 0; i < t->n_rows; i++)
        n_compared += as_metric_at(t, i, "error") != NULL;
    if (missing > 0)
        as_brief_check_add(b, AS_LEVEL_BAD, as_brief_say(b, "%.0f of %d could not be measured", missing, t->n_rows));
    if (noisy > 0 && n > 1)
        as_brief_check_add(b, AS_LEVEL_WARN, as_brief_say(b, "%.0f of %.0f on a busy machine or not steady", noisy, n));
    else if (noisy > 0)
        as_brief_check_add(b, AS_LEVEL_WARN, "busy machine or not steady");
    else if (n > 0)
        as_brief_check_add(b, AS_LEVEL_GOOD, "idle machine");
    if (n_compared >= n && n > 0)
        as_brief_check_add(b, AS_LEVEL_GOOD, "outputs compared with the reference code");
    else if (n > 1)
        as_brief_check_add(b, AS_LEVEL_NOTE, as_brief_say(b, "outputs of %.0f of %.0f not compared", n - n_compared, n));
    else if (n > 0)
        as_brief_check_add(b, AS_LEVEL_NOTE, "outputs not compared");
    as_brief_trust_make(b);
}

/* The first finding of the most severe level, and how many more there are. */
static void finding_add(as_brief *b, const assay_facts *f)
{
    static const as_level order[] = {AS_LEVEL_BAD, AS_LEVEL_WARN};
    const as_fact_group  *g = as_facts_group_find(f, "bench");
    const char           *first = NULL;
    int                   n = 0;
    for (size_t k = 0; g && !first && k < AS_COUNT(order); k++)
        for (int i = 0; i < g->n_findings; i++)
            if (g->findings[i].level == order[k]) {
                first = first ? first : g->findings[i].text;
                n++;
            }
    if (n > 1)
        first = as_brief_say(b, "%s (%d more such remarks: --report detailed)", first, n - 1);
    if (first)
        as_brief_text_add(b, first);
}

static void make(as_brief *b, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "bench", "cases");
    const char     *started = as_facts_note_find(f, "trace.started"), *clock = as_facts_note_find(f, "trial.clock");
    b->settings = as_brief_say(b, "%s%s%s", clock ? clock : "", clock && started ? " · " : "", started ? started : "");
    b->dated = started != NULL;
    if (t->n_rows == 1 && as_metric_at(t, 0, "median"))
        numbers_add(b, t);
    else
        cases_add(b, t);
    finding_add(b, f);
    checks_add(b, f, t);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "page");
    as_brief_hint_add(b, "assay history", "earlier");
}

const as_brief_kind as_br_bench = {.name = "bench", .order = 30, .fits = fits, .make = make};

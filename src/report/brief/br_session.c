/* br_session.c - the first screen of a session of the user's own code: how long, where the time goes, and what recording cost. */
#include <math.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MOST_ROWS = 5, MOST_SPANS = 6 };

static bool fits(const assay_facts *f) { return as_facts_group_find(f, "session"); }

static void operations_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Operations", "calls", "mean", "p95", "items/s", "share", NULL};
    as_brief_table          *to = as_brief_table_add(b, columns);
    if (!to)
        return;
    for (int i = 0; i < t->n_rows && i < MOST_ROWS; i++) {
        double        batch = as_value_at(t, i, "batch");
        const char   *name = as_words_at(t, i, "operation");
        as_brief_row *row = as_brief_row_add(b, to, batch > 0 ? as_brief_say(b, "%s, batch %.0f", name, batch) : name);
        row->cells[1] = as_brief_value(b, as_metric_at(t, i, "calls"));
        row->cells[2] = as_brief_value(b, as_metric_at(t, i, "mean"));
        row->cells[3] = as_brief_value(b, as_metric_at(t, i, "p95"));
        row->cells[4] = as_brief_value(b, as_metric_at(t, i, "throughput"));
        row->cells[5] = as_brief_percent(b, as_value_at(t, i, "share"));
    }
    if (t->n_rows > MOST_ROWS)
        to->note = as_brief_say(b, "%d more: --report detailed", t->n_rows - MOST_ROWS);
}

/* The spans with the most time of their own; operations have a table of theirs. */
static void spans_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Where the time goes", "calls", "average", "own time", "share", NULL};
    as_brief_table          *to = as_brief_table_add(b, columns);
    if (!to)
        return;
    to->bars = true;
    for (int i = 0; i < t->n_rows && i < MOST_SPANS; i++) {
        double        share = as_value_at(t, i, "share");
        as_brief_row *row = as_brief_row_add(b, to, as_words_at(t, i, "name"));
        row->bar = share;
        row->cells[1] = as_brief_value(b, as_metric_at(t, i, "calls"));
        row->cells[2] = as_brief_value(b, as_metric_at(t, i, "average"));
        row->cells[3] = as_brief_value(b, as_metric_at(t, i, "self"));
        row->cells[4] = as_brief_percent(b, share);
    }
}

static void make(as_brief *b, const assay_facts *f)
{
    const assay_metric *time = as_metric_find(f, "session.time"), *threads = as_metric_find(f, "session.threads");
    const assay_metric *spans = as_metric_find(f, "session.spans"), *inside = as_metric_find(f, "session.in_spans");
    const assay_metric *cost = as_metric_find(f, "session.cost_share"), *each = as_metric_find(f, "session.span_cost");
    const char         *name = as_facts_note_find(f, AS_NOTE_NAME), *settings = as_facts_note_find(f, AS_NOTE_SETTINGS);
    const assay_metric *complete = as_metric_find(f, "session.complete");
    const as_table     *operations = as_facts_table_find(f, "session", "operations");
    const as_table     *spans_table = as_facts_table_find(f, "hotspots", "spans");
    const assay_metric *starves = as_metric_find(f, "session.starves");
    b->title = name ? name : "a session";
    b->settings = settings ? settings : "";
    as_brief_number_add(b, "Time", time, as_brief_value(b, time),
                        threads ? as_brief_say(b, "%.0f %s", threads->value, threads->value == 1 ? "thread" : "threads") : "");
    as_brief_number_add(b, "Spans", spans, as_brief_value(b, spans),
                        inside ? as_brief_say(b, "they hold %s of the threads' time", as_brief_percent(b, inside->value)) : "");
    if (spans_table && spans_table->n_rows)
        spans_add(b, spans_table);
    if (operations)
        operations_add(b, operations);
    if (starves && starves->value > .05)
        as_brief_check_add(b, AS_LEVEL_WARN,
                           as_brief_say(b, "others had the CPUs in %s of the threads' time", as_brief_percent(b, starves->value)));
    if (cost && each)
        as_brief_check_add(b, cost->value <= .005 && each->value <= 30 ? AS_LEVEL_GOOD : AS_LEVEL_WARN,
                           as_brief_say(b, "recording cost %s of the time, %s per span", as_brief_percent(b, cost->value),
                                        as_brief_value(b, each)));
    if (complete && !(complete->value > 0))
        as_brief_check_add(b, AS_LEVEL_WARN, "the record was cut off");
    as_brief_trust_make(b);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "page");
}

const as_brief_kind as_br_session = {.name = "session", .order = 5, .fits = fits, .make = make};

/* br_allocations.c - the first screen of a record of allocations: the peak and who had it, what grows, who allocates most often. */
#include <math.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MAX_OWNERS = 6, MAX_OTHERS = 3 };

static bool fits(const assay_facts *f) { return as_facts_table_find(f, "allocations", "peak") != NULL; }

static const char *site_say(as_brief *b, const as_table *t, int row)
{
    const char *name = as_words_at(t, row, "name"), *where = as_words_at(t, row, "where");
    size_t      room = 34;
    return strlen(name) + strlen(where) + 3 <= room || !strcmp(where, "-")
               ? as_brief_say(b, "%.34s%s%s", name, strcmp(where, "-") ? "  " : "", strcmp(where, "-") ? where : "")
               : as_brief_say(b, "%.32s", name);
}

static void owners_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Who had it at the peak", "share", "bytes", NULL};
    as_brief_table          *to = as_brief_table_add(b, columns);
    double                   rest = 0, bytes = 0;
    int                      n_rest = 0;
    if (!to)
        return;
    to->bars = true;
    for (int i = 0; i < t->n_rows; i++) {
        double share = as_value_at(t, i, "share"), own = as_value_at(t, i, "bytes");
        if (i >= MAX_OWNERS || !isfinite(share)) {
            rest += isfinite(share) ? share : 0;
            bytes += isfinite(own) ? own : 0;
            n_rest++;
            continue;
        }
        as_brief_row *row = as_brief_row_add(b, to, site_say(b, t, i));
        row->bar = share;
        row->cells[1] = as_brief_percent(b, share);
        row->cells[2] = as_brief_value(b, as_metric_at(t, i, "bytes"));
    }
    if (n_rest) {
        char          size[64];
        as_brief_row *row = as_brief_row_add(b, to, "others");
        row->role = AS_CHART_MUTED;
        row->bar = rest;
        row->cells[1] = as_brief_percent(b, rest);
        row->cells[2] = as_brief_say(b, "%s", as_show(size, sizeof size, bytes, "byte"));
    }
}

static void calls_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Who allocates most often", "calls", "mean size", "freed at once", NULL};
    as_brief_table          *to = t ? as_brief_table_add(b, columns) : NULL;
    for (int i = 0; to && i < t->n_rows && i < MAX_OTHERS; i++) {
        as_brief_row *row = as_brief_row_add(b, to, site_say(b, t, i));
        row->cells[1] = as_brief_value(b, as_metric_at(t, i, "calls"));
        row->cells[2] = as_brief_value(b, as_metric_at(t, i, "mean"));
        row->cells[3] = as_brief_percent(b, as_value_at(t, i, "temporary"));
    }
}

static void leaks_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"May leak: grows to the end", "per second", "at the end", "blocks", NULL};
    as_brief_table          *to = t ? as_brief_table_add(b, columns) : NULL;
    for (int i = 0; to && i < t->n_rows && i < MAX_OTHERS; i++) {
        const assay_metric *slope = as_metric_at(t, i, "slope");
        char                size[64];
        as_brief_row       *row = as_brief_row_add(b, to, site_say(b, t, i));
        row->role = AS_CHART_WARN;
        row->cells[1] = slope ? as_brief_say(b, "%s", as_show(size, sizeof size, slope->value, "byte")) : "n/a";
        row->cells[2] = as_brief_value(b, as_metric_at(t, i, "bytes"));
        row->cells[3] = as_brief_value(b, as_metric_at(t, i, "blocks"));
    }
}

static void checks_add(as_brief *b, const assay_facts *f)
{
    const assay_metric *cost = as_metric_find(f, "allocations.cost_per_call"), *share = as_metric_find(f, "allocations.cost_share");
    as_brief_check_add(b, AS_LEVEL_GOOD, "counts are exact");
    if (cost && share)
        as_brief_check_add(b, AS_LEVEL_GOOD,
                           as_brief_say(b, "recording took %s per call, %s of the CPU time", as_brief_value(b, cost),
                                        as_brief_percent(b, share->value)));
    else if (cost)
        as_brief_check_add(b, AS_LEVEL_GOOD, as_brief_say(b, "recording took %s per call", as_brief_value(b, cost)));
    const as_fact_group *g = as_facts_group_find(f, "allocations");
    for (int i = 0; g && i < g->n_findings; i++)
        if (g->findings[i].level == AS_LEVEL_BAD)
            as_brief_check_add(b, AS_LEVEL_BAD, g->findings[i].text);
    as_brief_trust_make(b);
}

static void make(as_brief *b, const assay_facts *f)
{
    const assay_metric *peak = as_metric_find(f, "allocations.peak"), *live = as_metric_find(f, "allocations.live_end"),
                       *allocs = as_metric_find(f, "allocations.allocs"), *rate = as_metric_find(f, "allocations.rate"),
                       *blocks = as_metric_find(f, "allocations.blocks_end"), *when = as_metric_find(f, "allocations.peak_time"),
                       *leaks = as_metric_find(f, "allocations.leaks"), *once = as_metric_find(f, "allocations.temporary");
    const as_table *owners = as_facts_table_find(f, "allocations", "peak");
    as_brief_number_add(b, "Peak", peak, NULL, when ? as_brief_say(b, "until %s", as_brief_value(b, when)) : "never fell again");
    as_brief_number_add(b, "At the end", live, NULL, blocks ? as_brief_say(b, "in %s blocks", as_brief_value(b, blocks)) : "");
    as_brief_number_add(b, "Allocations", allocs, NULL,
                        as_brief_say(b, "%s%s%s", rate ? as_brief_value(b, rate) : "", rate && once ? "   " : "",
                                     once ? as_brief_say(b, "%s freed at once", as_brief_percent(b, once->value)) : ""));
    if (!leaks)
        as_brief_number_add(b, "Leaks", NULL, "cannot tell", "too few allocations, or too short a run");
    else
        as_brief_number_add(b, "Leaks", leaks, leaks->value > 0 ? NULL : "none found",
                            leaks->value > 0 ? "stacks whose memory grows to the end" : "no stack's memory grows to the end");
    leaks_add(b, as_facts_table_find(f, "allocations", "leaks"));
    owners_add(b, owners);
    calls_add(b, as_facts_table_find(f, "allocations", "calls"));
    checks_add(b, f);
    as_brief_hint_add(b, "--report detailed", "everything");
    as_brief_hint_add(b, "--html FILE", "page with the timeline");
    as_brief_hint_add(b, "--trace FILE", "record");
}

const as_brief_kind as_br_allocations = {.name = "allocations", .order = 25, .fits = fits, .make = make};

/* br_record.c - the first screen of a recorded program: how much of the time it runs, where, and what it waits for. */
#include <math.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MAX_FUNCTIONS = 8, MAX_WAITS = 3, NAME_COLUMNS = 36 };
#define MUCH_WAITING 0.05 /* of the time */

static bool fits(const assay_facts *f) { return as_facts_group_find(f, "record"); }

static void headline_make(as_brief *b, const assay_facts *f)
{
    const assay_metric *runs = as_metric_find(f, "record.runs"), *waits = as_metric_find(f, "record.waits"),
                       *starves = as_metric_find(f, "record.starves"), *cpus = as_metric_find(f, "record.cpus");
    if (!runs || !waits) {
        b->headline = "The record has no end: only its samples are known.";
        b->level = AS_LEVEL_WARN;
        return;
    }
    b->headline =
        as_brief_say(b, "runs %s of the time, waits %s", as_brief_percent(b, runs->value), as_brief_percent(b, waits->value));
    if (starves && starves->value >= .01)
        b->headline = as_brief_say(b, "%s, has no CPU %s", b->headline, as_brief_percent(b, starves->value));
    if (cpus && cpus->value > 1.05)
        b->headline = as_brief_say(b, "%s; uses %.1f CPUs", b->headline, cpus->value);
}

static void times_add(as_brief *b, const assay_facts *f)
{
    const assay_metric *wall = as_metric_find(f, "record.wall"), *cpu = as_metric_find(f, "record.cpu"),
                       *n = as_metric_find(f, "record.samples"), *threads = as_metric_find(f, "record.threads"),
                       *code = as_metric_find(f, "record.exit_code");
    if (wall)
        as_brief_number_add(b, "Time", wall, NULL, code ? as_brief_say(b, "exit code %.0f", code->value) : "");
    if (cpu && n)
        as_brief_number_add(b, "CPU time", cpu, NULL,
                            as_brief_say(b, "%.0f samples   %.0f %s", n->value, threads ? threads->value : 1,
                                         threads && threads->value > 1 ? "threads" : "thread"));
}

/* The library stands behind the name where there is room: "memcpy (libc)"; the detailed report has it in full. */
static const char *function_name(as_brief *b, const as_table *t, int row)
{
    const char *object = as_words_at(t, row, "object"), *name = as_words_at(t, row, "function");
    const char *suffix = strstr(object, ".so");
    size_t      n = suffix ? (size_t)(suffix - object) : strlen(object);
    bool        shown = *object && strcmp(object, "-") && strlen(name) + n + 3 <= NAME_COLUMNS;
    return shown ? as_brief_say(b, "%s (%.*s)", name, (int)n, object) : as_brief_say(b, "%s", name);
}

/* "48.1 to 51.0": the error of sampling. */
static const char *interval(as_brief *b, const assay_metric *m)
{
    return m && m->hi > m->lo ? as_brief_say(b, "%.1f to %.1f %%", 100 * m->lo, 100 * m->hi) : "";
}

static void functions_add(as_brief *b, const as_table *t)
{
    static const char *const columns[] = {"Where the CPU time goes", "self", "between", "with callees", NULL};
    as_brief_table          *to = NULL;
    double                   rest = 0, most = NAN;
    int                      n_rest = 0;
    for (int i = 0; i < t->n_rows; i++) {
        const assay_metric *self = as_metric_at(t, i, "self_share"), *total = as_metric_at(t, i, "total_share");
        if (!self || !total || !(self->value > 0))
            continue;
        if (to && to->n_rows >= MAX_FUNCTIONS) {
            n_rest++, rest += self->value;
            continue;
        }
        to = to ? to : as_brief_table_add(b, columns);
        if (!to)
            return;
        to->bars = true;
        most = isnan(most) ? self->value : most;
        as_brief_row *row = as_brief_row_add(b, to, function_name(b, t, i));
        row->bar = self->value / most;
        row->cells[1] = as_brief_percent(b, self->value);
        row->cells[2] = interval(b, self);
        row->cells[3] = as_brief_percent(b, total->value);
    }
    if (to && n_rest) {
        as_brief_row *row = as_brief_row_add(b, to, as_brief_say(b, "%d others", n_rest));
        row->bar = NAN;
        row->cells[1] = as_brief_percent(b, rest);
        row->role = AS_CHART_MUTED;
    }
}

static void waits_add(as_brief *b, const assay_facts *f, const as_table *t)
{
    static const char *const columns[] = {"What it waits in", "time", NULL};
    const assay_metric      *waits = as_metric_find(f, "record.waits");
    as_brief_table          *to = NULL;
    bool                     done[1024] = {0};
    while (waits && waits->value >= MUCH_WAITING && (!to || to->n_rows < MAX_WAITS)) {
        int best = -1;
        for (int i = 0; i < t->n_rows && i < (int)AS_COUNT(done); i++)
            if (!done[i] && as_value_at(t, i, "waits") > 0 &&
                (best < 0 || as_value_at(t, i, "waits") > as_value_at(t, best, "waits")))
                best = i;
        if (best < 0 || (!to && !(to = as_brief_table_add(b, columns))))
            return;
        done[best] = true;
        as_brief_row_add(b, to, function_name(b, t, best))->cells[1] = as_brief_value(b, as_metric_at(t, best, "waits"));
    }
}

/* Only what is a warning: the headline has said the rest. */
static void checks_add(as_brief *b, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "record");
    for (int i = 0; i < g->n_findings; i++)
        if (g->findings[i].level >= AS_LEVEL_WARN)
            as_brief_text_add(b, g->findings[i].text);
}

static void make(as_brief *b, const assay_facts *f)
{
    const char     *name = as_facts_note_find(f, AS_NOTE_NAME), *settings = as_facts_note_find(f, AS_NOTE_SETTINGS);
    const as_table *t = as_facts_table_find(f, "hotspots", "functions");
    b->title = name && *name ? name : b->title;
    b->settings = settings ? settings : "";
    headline_make(b, f);
    times_add(b, f);
    if (t) {
        functions_add(b, t);
        waits_add(b, f, t);
    }
    checks_add(b, f);
    as_brief_hint_add(b, "--report detailed", "call tree");
    as_brief_hint_add(b, "--html FILE", "flame graph");
    as_brief_hint_add(b, "--json FILE", "every number");
}

const as_brief_kind as_br_record = {.name = "record", .order = 10, .fits = fits, .make = make};

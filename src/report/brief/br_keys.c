/* br_keys.c - the first screen of one section of the guides' keys (profile --only, --quick): each with its value and where that comes from. */
#include <string.h>

#include "report/brief.h"

static const char *const groups[] = {"profile.compute", "profile.memory", "profile.stream", "profile.hardware"};

enum { MAX_ROWS = 16, N_GROUPS = sizeof groups / sizeof *groups };

/* Some of the sections, and not all: a whole profile has a screen of its own. */
static bool fits(const assay_facts *f)
{
    int n = 0;
    for (int i = 0; i < N_GROUPS; i++)
        n += as_facts_group_find(f, groups[i]) != NULL;
    return n > 0 && n < N_GROUPS;
}

static const char *key_of(const as_fact *fact)
{
    const char *dot = strrchr(fact->key, '.');
    return dot ? dot + 1 : fact->key;
}

/* With several sections only what is read first has room. */
static bool is_first(const char *key)
{
    static const char *const keys[] = {"time_mean",      "samples_per_second", "tflops",      "compute_efficiency",
                                       "peak_usage",     "peak_memory",        "bandwidth",   "bandwidth_utilization",
                                       "cache_hit_rate", "kernel_time",        "memory_time", "num_kernels",
                                       "num_transfers"};
    for (size_t i = 0; i < AS_COUNT(keys); i++)
        if (!strcmp(keys[i], key))
            return true;
    return false;
}

static void group_add(as_brief *b, as_brief_table *t, const as_fact_group *g, bool only, const as_fact **missing)
{
    for (int i = 0; i < g->n_facts && t->n_rows < MAX_ROWS; i++) {
        const as_fact *fact = &g->facts[i];
        bool           has = as_metric_has(&fact->metric);
        if (!only && !is_first(key_of(fact)))
            continue;
        if (!has && !*missing)
            *missing = fact;
        as_brief_row *row = as_brief_row_add(b, t, key_of(fact));
        row->cells[1] = as_brief_value(b, &fact->metric);
        row->cells[2] = assay_kind_text(fact->metric.kind);
    }
}

static void make(as_brief *b, const assay_facts *f)
{
    const char    *name = as_facts_note_find(f, AS_NOTE_NAME), *settings = as_facts_note_find(f, AS_NOTE_SETTINGS);
    const as_fact *missing = NULL;
    int            n = 0;
    for (int i = 0; i < N_GROUPS; i++)
        n += as_facts_group_find(f, groups[i]) != NULL;
    b->title = name ? name : "a run";
    b->settings = settings ? settings : "";
    as_brief_table *t = as_brief_table_add(b, (const char *const[]){"Key", "value", "kind", NULL});
    if (!t)
        return;
    t->left[2] = true;
    for (int i = 0; i < N_GROUPS; i++)
        if (as_facts_group_find(f, groups[i]))
            group_add(b, t, as_facts_group_find(f, groups[i]), n == 1, &missing);
    if (missing)
        as_brief_text_add(b, as_brief_say(b, "%s is unavailable: %s.", key_of(missing), missing->metric.reason));
    as_brief_hint_add(b, "--sections profile", "all keys");
    as_brief_hint_add(b, "--json FILE", "with reasons");
}

const as_brief_kind as_br_keys = {.name = "keys", .order = 1, .fits = fits, .make = make};

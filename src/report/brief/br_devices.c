/* br_devices.c - the first screen of devices: the devices of this machine, and the limits of each. */
#include <math.h>
#include <string.h>

#include "report/brief.h"
#include "report/pick.h"

enum { MAX_DEVICES = 5, MAX_SOURCES = 3 };

static bool fits(const assay_facts *f) { return as_facts_table_find(f, "devices", "devices"); }

/* The best limit of a device whose name begins with this text ("fma.f32."): most work per second, or least time.  NULL: none. */
static const assay_metric *best_of(const as_fact_group *g, const char *device, const char *prefix)
{
    const assay_metric *best = NULL;
    size_t              n_device = strlen(device), n_prefix = strlen(prefix);
    for (int i = 0; i < g->n_facts; i++) {
        const char         *key = g->facts[i].key;
        const assay_metric *m = &g->facts[i].metric;
        if (strncmp(key, "limits.", 7) || strncmp(key + 7, device, n_device) || key[7 + n_device] != '.' ||
            strncmp(key + 8 + n_device, prefix, n_prefix) || !as_metric_has(m))
            continue;
        bool better = best && (strcmp(m->unit, "ns") ? m->value > best->value : m->value < best->value);
        best = !best || better ? m : best;
    }
    return best;
}

static const char *best_say(as_brief *b, const as_fact_group *g, const char *device, const char *const *prefixes)
{
    const assay_metric *best = NULL;
    for (; *prefixes && !best; prefixes++)
        best = best_of(g, device, *prefixes);
    return best ? as_brief_value(b, best) : "-";
}

static bool has_limits(const as_fact_group *g, const char *device) { return best_of(g, device, ""); }

static int limits_add(as_brief *b, const as_fact_group *g, const as_table *t)
{
    static const char *const columns[] = {"At most", "float32", "float64", "int8", "memory", "start", NULL};
    static const char *const prefixes[][3] = {{"fma.f32"}, {"fma.f64"}, {"madd.i8"}, {"read.dram"}, {"fork", "launch"}};
    as_brief_table          *to = NULL;
    int                      n = 0;
    for (int i = 0; i < t->n_rows && n < MAX_DEVICES; i++) {
        const char *device = as_words_at(t, i, "device");
        if (!has_limits(g, device))
            continue;
        to = to ? to : as_brief_table_add(b, columns);
        as_brief_row *row = as_brief_row_add(b, to, device);
        for (size_t k = 0; k < AS_COUNT(prefixes); k++)
            row->cells[k + 1] = best_say(b, g, device, prefixes[k]);
        n++;
    }
    return n;
}

static void make(as_brief *b, const assay_facts *f)
{
    const as_fact_group *g = as_facts_group_find(f, "devices");
    const as_table      *t = as_facts_table_find(f, "devices", "devices");
    int                  n_usable = 0;
    for (int i = 0; i < t->n_rows; i++) {
        bool usable = !strcmp(as_words_at(t, i, "usable"), "yes");
        n_usable += usable;
        as_brief_number_add(b, as_words_at(t, i, "device"), NULL, usable ? "usable" : "not usable", as_words_at(t, i, "text"));
    }
    b->headline = as_brief_say(b, "%d of %d devices can be used here.", n_usable, t->n_rows);
    if (t->n_rows > AS_BRIEF_NUMBERS)
        as_brief_text_add(b, as_brief_say(b, "%d more devices: --report detailed", t->n_rows - AS_BRIEF_NUMBERS));
    if (limits_add(b, g, t))
        as_brief_text_add(b, "memory: bytes read per second.  start: the least time to hand work to a device.");
    else
        as_brief_text_add(b, "How fast they can be at most is not measured yet: assay devices --measure does it in some seconds.");
    for (int i = 0, n = 0; i < t->n_rows && n < MAX_SOURCES; i++) /* where the limits come from, or why there are none */
        if (strcmp(as_words_at(t, i, "limits"), "-") && strcmp(as_words_at(t, i, "backend"), "null")) {
            as_brief_text_add(b, as_brief_say(b, "%s: %s.", as_words_at(t, i, "device"), as_words_at(t, i, "limits")));
            n++;
        }
    as_brief_hint_add(b, "--report detailed", "all limits");
    as_brief_hint_add(b, "--measure", "measure again");
    as_brief_hint_add(b, "assay doctor", "sensors");
}

const as_brief_kind as_br_devices = {.name = "devices", .order = 60, .fits = fits, .make = make};

/* an_compile.c - what compiling gains: the ratio within rounds of two plans that took turns, and what planning and the first call cost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/evidence.h"
#include "base/stats.h"

typedef struct arm { const char *name; double *ns; size_t n; } arm;

static int sensor_exact(const assay_trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_sensors; i++)
        if (!strcmp(t->sensors[i].name, name))
            return (int)i;
    return -1;
}

/* The readings of a round by its number; a round that an arm did not finish has no pair. */
static arm arm_read(assay_facts *f, const assay_trace *t, const char *name, size_t rounds)
{
    arm a = { .name = name, .ns = AS_TAKE(&f->arena, double, rounds), .n = rounds };
    int sensor = sensor_exact(t, as_say(f, "pair.%s", name));
    for (size_t i = 0; a.ns && i < rounds; i++)
        a.ns[i] = (double)NAN;
    for (size_t i = 0; a.ns && i < t->n_readings; i++)
        if ((int)t->readings[i].sensor == sensor && t->readings[i].sample < rounds && t->readings[i].value > 0)
            a.ns[t->readings[i].sample] = t->readings[i].value;
    return a;
}

static assay_metric note_metric(assay_facts *f, const assay_trace *t, const char *name, const char *what, const char *source)
{
    const char *text = as_trace_note_find(t, as_say(f, "pair.%s.%s", name, what));
    char       *end;
    double      value = text ? strtod(text, &end) : (double)NAN;
    if (!text || end == text || !isfinite(value))
        return as_metric_unavailable("ns", "the trace does not say");
    return as_metric_measured(value, (double)NAN, (double)NAN, 1, "ns", source);
}

static void arm_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const arm *a, double *kept, size_t n)
{
    const char *key = as_facts_keep(f, as_say(f, "compile.%s", a->name));
    as_facts_add(f, g, as_say(f, "%s.plan", key), as_say(f, "compile %s: planning", a->name), note_metric(f, t, a->name, "plan_ns", "clock around planning"));
    as_facts_add(f, g, as_say(f, "%s.first", key), as_say(f, "compile %s: first call, with its prologue", a->name),
                 note_metric(f, t, a->name, "first_ns", "clock around the first call"));
    as_facts_add(f, g, as_say(f, "%s.steady", key), as_say(f, "compile %s: steady state", a->name),
                 as_median_metric(f, kept, n, "ns", "median of blocks that took turns", "no round was finished"));
}

static void ratio_add(assay_facts *f, as_fact_group *g, double *ratios, size_t n)
{
    size_t lo, hi;
    double cover, *scratch = AS_TAKE(&f->arena, double, n);
    if (!scratch || !n) {
        as_facts_add(f, g, "compile.ratio", "off / on", as_metric_unavailable("1", "no round was finished"));
        return;
    }
    double median = as_median(ratios, n, scratch);
    bool   bounded = as_median_ranks(n, AS_CONFIDENCE, &lo, &hi, &cover);
    as_sort(ratios, n);
    double from = bounded ? ratios[lo] : (double)NAN, to = bounded ? ratios[hi] : (double)NAN;
    as_facts_add(f, g, "compile.ratio", "off / on: how many times faster compiled is",
                 as_metric_derived(median, from, to, n, "1", "median ratio within rounds, interval by order statistics"));
    if (!bounded)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%zu rounds are too few for an interval of the ratio.", n);
    else if (from > 1 || to < 1)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Compiled is %s than op by op: %.3f times [%.3f, %.3f] in %zu rounds that took turns.", from > 1 ? "faster" : "slower",
                      median, from, to, n);
    else
        as_facts_find(f, g, AS_LEVEL_NOTE, "No difference between compiled and op by op can be seen: ratio %.3f [%.3f, %.3f] in %zu rounds.", median, from, to, n);
}

static void run(assay_facts *f, const assay_trace *t)
{
    size_t rounds = 0;
    int    on = sensor_exact(t, "pair.on");
    if (on < 0 || sensor_exact(t, "pair.off") < 0)
        return;
    for (size_t i = 0; i < t->n_readings; i++)
        if ((int)t->readings[i].sensor == on && t->readings[i].sample < t->n_readings && t->readings[i].sample >= rounds)
            rounds = (size_t)t->readings[i].sample + 1;
    as_fact_group *g = as_facts_group(f, "compile", "Compiled against op by op");
    arm            a = arm_read(f, t, "on", rounds), b = arm_read(f, t, "off", rounds);
    double        *x = AS_TAKE(&f->arena, double, rounds), *y = AS_TAKE(&f->arena, double, rounds), *ratios = AS_TAKE(&f->arena, double, rounds);
    size_t         n = 0;
    if (!g || !a.ns || !b.ns || !x || !y || !ratios)
        return;
    for (size_t i = 0; i < rounds; i++)
        if (a.ns[i] > 0 && b.ns[i] > 0) {
            x[n] = a.ns[i];
            y[n] = b.ns[i];
            ratios[n++] = b.ns[i] / a.ns[i];
        }
    arm_add(f, g, t, &a, x, n);
    arm_add(f, g, t, &b, y, n);
    ratio_add(f, g, ratios, n);
    const char *difference = as_trace_note_find(t, "pair.difference");
    if (difference)
        as_facts_find(f, g, AS_LEVEL_NOTE, "The outputs of both differ by at most %s, as |a - b| / (1 + |b|), on the same inputs.", difference);
}

const as_analysis as_an_compile = {.name = "compile", .order = 55, .run = run};

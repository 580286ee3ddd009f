/* an_memory_pressure.c - how short memory was: five levels, each reading's by its worst cause, and the time in each.
 *
 * Causes: how much of the machine's memory is not available, how much of the control group's limit is used, and the share of time in which
 * some task waited for memory (pressure stall information). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/text.h"

enum { N_LEVELS = 5, N_CAUSES = 3, MAX_SENSORS = 4 };
static const char *const levels[N_LEVELS] = {"none", "low", "medium", "high", "critical"};
/* From which share of memory, and from which share of time stalled, a level begins. */
static const double      used_from[N_LEVELS] = {0, 0.70, 0.80, 0.90, 0.95};
static const double      stalled_from[N_LEVELS] = {0, 0.005, 0.02, 0.10, 0.30};
static const char *const causes[N_CAUSES] = {"the machine's memory", "the limit of the control group",
                                             "tasks that waited for memory"};

static int level_of(double share, const double *from)
{
    int level = 0;
    for (int i = 1; i < N_LEVELS; i++)
        level = share >= from[i] ? i : level;
    return level;
}

typedef struct sums {
    double ns[N_LEVELS];    /* in each level */
    double worst[N_CAUSES]; /* the highest share of each cause; NaN: not known */
    int    level, cause;    /* the worst, and why */
    size_t n;
} sums;

/* What the sensors said last before a moment, and how long that stood. */
typedef struct state {
    double value[MAX_SENSORS];
} state;

static void moment_judge(const state *s, double stalled, double ns, sums *out)
{
    double share[N_CAUSES] = {NAN, NAN, stalled};
    int    worst = 0, cause = -1;
    bool   known = false;
    if (s->value[1] > 0 && s->value[0] >= 0)
        share[0] = 1 - fmin(1, s->value[0] / s->value[1]);
    if (s->value[3] > 0 && s->value[2] >= 0)
        share[1] = s->value[2] / s->value[3];
    for (int i = 0; i < N_CAUSES; i++) {
        int level = isnan(share[i]) ? 0 : level_of(share[i], i == 2 ? stalled_from : used_from);
        known |= !isnan(share[i]);
        if (!isnan(share[i]) && !(out->worst[i] >= share[i]))
            out->worst[i] = share[i];
        if (level > worst || cause < 0)
            cause = level > worst ? i : cause, worst = level > worst ? level : worst;
    }
    if (!known)
        return;
    out->ns[worst] += ns;
    out->n++;
    if (worst > out->level)
        out->level = worst, out->cause = cause;
}

static void pressure_read(const assay_trace *t, const int sensors[MAX_SENSORS], double stalled, sums *out)
{
    state    now = {{NAN, NAN, NAN, NAN}};
    uint64_t at = 0;
    bool     begun = false;
    *out = (sums){.worst = {NAN, NAN, NAN}, .cause = -1};
    for (size_t i = 0; i < t->n_readings; i++) {
        const as_reading *r = &t->readings[i];
        int               which = -1;
        for (int k = 0; k < MAX_SENSORS; k++)
            which = sensors[k] >= 0 && r->sensor == (uint32_t)sensors[k] ? k : which;
        if (which < 0)
            continue;
        if (begun && r->ticks > at) { /* the level of a moment stands until the next reading */
            moment_judge(&now, stalled, (double)(r->ticks - at) * t->ns_per_tick, out);
            at = r->ticks;
        }
        at = begun ? at : r->ticks;
        begun = true;
        now.value[which] = r->value;
    }
    if (begun)
        moment_judge(&now, stalled, 0, out);
}

/* The share of the time between the first and the last reading in which some task waited for memory. */
static double stalled_share(const assay_trace *t, int sensor)
{
    const as_reading *first = NULL, *last = NULL;
    for (size_t i = 0; sensor >= 0 && i < t->n_readings; i++)
        if (t->readings[i].sensor == (uint32_t)sensor && !isnan(t->readings[i].value)) {
            first = first ? first : &t->readings[i];
            last = &t->readings[i];
        }
    if (!first || last->ticks <= first->ticks || last->value < first->value)
        return NAN;
    return fmin(1, (last->value - first->value) / ((double)(last->ticks - first->ticks) * t->ns_per_tick));
}

/* The reason of the first sensor that has one. */
static const char *why_not(const assay_trace *t, int sensor)
{
    return sensor >= 0 && t->sensors[sensor].reason ? t->sensors[sensor].reason : "the trace has no such readings";
}

static void cause_add(assay_facts *f, as_fact_group *g, const char *key, const char *label, double share, const char *source,
                      const char *reason)
{
    as_facts_add(f, g, key, label,
                 isnan(share) ? as_metric_unavailable("ratio", reason) : as_metric_derived(share, NAN, NAN, 1, "ratio", source));
}

static void run(assay_facts *f, const assay_trace *t)
{
    static const char *const names[MAX_SENSORS] = {"memory.available", "memory.total", "memory.group.used", "memory.group.limit"};
    static const char *const columns[] = {"level|level", "from|share of memory from", "stalled|time stalled from",
                                          "time|time in it", NULL};
    int                      sensors[MAX_SENSORS], psi = as_sensor_find(t, "pressure.memory");
    bool                     any = psi >= 0;
    for (int i = 0; i < MAX_SENSORS; i++) {
        sensors[i] = as_sensor_find(t, names[i]);
        any |= sensors[i] >= 0;
    }
    if (!any)
        return;
    as_fact_group *g = as_facts_group(f, "memory", "Memory");
    double         stalled = stalled_share(t, psi);
    sums           s;
    pressure_read(t, sensors, stalled, &s);
    as_facts_add(f, g, "memory.pressure", "memory pressure, from 0 (none) to 4 (critical)",
                 s.n ? as_metric_derived(s.level, NAN, NAN, s.n, "1", "the worst of all readings, by its worst cause")
                     : as_metric_unavailable("1", why_not(t, sensors[0])));
    cause_add(f, g, "memory.pressure.machine", "of the machine's memory, in use at most", s.worst[0], "1 - MemAvailable / MemTotal",
              why_not(t, sensors[0]));
    cause_add(f, g, "memory.pressure.group", "of the control group's limit, in use at most", s.worst[1],
              "usage without idle file pages / limit", why_not(t, sensors[3]));
    cause_add(f, g, "memory.pressure.stalled", "of the time, a task waited for memory", stalled, "pressure stall information",
              why_not(t, psi));
    if (!s.n)
        return;
    as_facts_note(f, "memory.pressure", levels[s.level]);
    if (s.level)
        as_facts_find(f, g, s.level > 2 ? AS_LEVEL_BAD : AS_LEVEL_WARN, "Memory pressure was %s, because of %s: %s of it.",
                      levels[s.level], causes[s.cause], as_say_number(f, s.worst[s.cause], "ratio"));
    as_table *table = as_facts_table(f, g, "pressure", "Time in each level of memory pressure", columns);
    for (int i = 0; i < N_LEVELS; i++) {
        as_cell cells[] = {{.text = levels[i]},
                           {.metric = as_metric_counted(0, "ratio", "definition")},
                           {.metric = as_metric_counted(0, "ratio", "definition")},
                           {.metric = as_metric_measured(s.ns[i], NAN, NAN, s.n, "ns", "readings of the sensors")}};
        cells[1].metric.value = cells[1].metric.lo = cells[1].metric.hi = used_from[i];
        cells[2].metric.value = cells[2].metric.lo = cells[2].metric.hi = stalled_from[i];
        as_facts_row(f, table, cells);
    }
}

const as_analysis as_an_memory_pressure = {.name = "memory_pressure", .order = 53, .run = run};

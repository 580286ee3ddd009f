/* an_contention.c - was the machine ours?  CPU time against wall time, switches, steal and pressure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/evidence.h"

#define CLEAN_RATIO     0.97 /* below, something else ran on our CPU during the sample */
#define QUIET_SHARE     0.05
#define DISTURBED_SHARE 0.25

/* The ratio means nothing where the calling thread waits for another engine or where time is made up. */
static const char *why_not(assay_facts *f, const assay_trace *t, const as_times *times)
{
    if (!strcmp(t->clock_name, "fake"))
        return "the clock is a fake: its time is not the machine's";
    if (*t->device && strncmp(t->device, "cpu", 3))
        return as_say(f, "the calling thread waits for the device %s, so its CPU time says nothing", t->device);
    return times->n_cpu ? NULL : "the thread's CPU clock was not read";
}

static void ratio_add(assay_facts *f, as_fact_group *g, const as_times *times, const char *reason)
{
    double *ratios = AS_TAKE(&f->arena, double, times->n);
    size_t  n = 0, n_dirty = 0;
    for (size_t i = 0; !reason && ratios && i < times->n; i++)
        if (!isnan(times->cpu_ns[i]) && times->ns[i] > 0) {
            ratios[n++] = times->cpu_ns[i] / times->ns[i];
            n_dirty += ratios[n - 1] < CLEAN_RATIO;
        }
    assay_metric median = as_median_metric(f, ratios, n, "ratio", "thread CPU clock / wall of the same sample",
                                           reason ? reason : "no sample has a wall time");
    assay_metric dirty = as_metric_unavailable("ratio", reason ? reason : "no sample has a wall time");
    if (n) {
        median.kind = ASSAY_DERIVED;
        dirty = as_metric_derived((double)n_dirty / (double)n, NAN, NAN, n, "ratio", "samples with CPU/wall below 0.97 / samples");
    }
    as_facts_add(f, g, "contention.cpu_share", "CPU time / wall time", median);
    as_facts_add(f, g, "contention.contaminated", "samples disturbed", dirty);
}

/* A sensor under a name of ours, found by a part of its name. */
static void sensor_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const char *key, const char *label,
                       const char *const *parts, const char *unit)
{
    int i = -1;
    for (; *parts && i < 0; parts++)
        i = as_sensor_find(t, *parts);
    as_facts_add(f, g, key, label,
                 i >= 0 ? as_sensor_metric(f, t, (size_t)i) : as_metric_unavailable(unit, "the trace has no sensor for it"));
}

/* Numbers of the sentence, as far as they are there. */
static const char *numbers(assay_facts *f)
{
    static const struct {
        const char *key, *name;
    } parts[] = {
        {"contention.switches", "involuntary switches"}, {"contention.steal", "steal"}, {"contention.pressure", "pressure stall"}};
    const char *text = "";
    for (size_t i = 0; i < AS_COUNT(parts); i++) {
        const assay_metric *m = as_facts_metric(f, parts[i].key);
        if (m && as_metric_has(m))
            text = as_say(f, "%s; %s %s", text, parts[i].name, as_say_number(f, m->value, m->unit));
    }
    return text;
}

static void label_add(assay_facts *f, as_fact_group *g)
{
    const assay_metric *dirty = as_facts_metric(f, "contention.contaminated");
    if (!dirty)
        return;
    if (!as_metric_has(dirty)) {
        as_facts_note(f, "contention.label", "unknown");
        as_facts_find(f, g, AS_LEVEL_NOTE, "Whether the machine was quiet cannot be told from CPU time: %s%s.", dirty->reason,
                      numbers(f));
        return;
    }
    double      share = dirty->value;
    const char *label = share <= QUIET_SHARE ? "quiet" : share <= DISTURBED_SHARE ? "disturbed" : "heavily disturbed";
    as_level    level = share <= QUIET_SHARE ? AS_LEVEL_GOOD : share <= DISTURBED_SHARE ? AS_LEVEL_WARN : AS_LEVEL_BAD;
    as_facts_note(f, "contention.label", label);
    as_facts_find(
        f, g, level,
        "The machine was %s: in %.1f %% of %llu samples the thread got less than 97 %% of its CPU (quiet: up to 5 %%, disturbed: up to 25 %%)%s.",
        label, 100 * share, (unsigned long long)dirty->n, numbers(f));
}

#define LATE_SHARE 0.001 /* of barriers; below, threads come together as they should */

/* Threads wait for the slowest: a core that is taken away shows at the barriers, and so does uneven work. */
static void threads_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    if (!t->n_barriers) /* one thread, or a device whose threads are not ours */
        return;
    assay_metric barriers = as_metric_counted(t->n_barriers, "1", "the thread pool");
    assay_metric late = as_metric_counted(t->n_late_waits, "1", "the thread pool");
    assay_metric switches = as_metric_counted(t->thread_switches, "1", "getrusage of every thread of the pool");
    as_facts_add(f, g, "contention.barriers", "barriers that the threads met at", barriers);
    as_facts_add(f, g, "contention.late", "waits at barriers beyond 20 us", late);
    as_facts_add(f, g, "contention.thread_switches", "involuntary switches of all threads", switches);
    double share = barriers.value > 0 ? late.value / barriers.value : 0;
    if (share <= LATE_SHARE)
        as_facts_find(f, g, AS_LEVEL_GOOD, "The threads kept together: %.0f of %.0f barriers were waited at for more than 20 us.",
                      late.value, barriers.value);
    else if (switches.value > 0)
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "A core was taken away: %.2f %% of %.0f barriers were waited at for more than 20 us, and threads were switched off their CPUs %.0f times. "
            "Times of several threads are then the neighbours' too.",
            100 * share, barriers.value, switches.value);
    else
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "The work is uneven: %.2f %% of %.0f barriers were waited at for more than 20 us, though no thread was switched away.",
            100 * share, barriers.value);
}

static void run(assay_facts *f, const assay_trace *t)
{
    static const char *const switches[] = {"involuntary", "nivcsw", NULL}, *const steal[] = {"steal", NULL};
    static const char *const pressure[] = {"psi.cpu", "pressure.cpu", "cpu.pressure", "psi", "pressure", NULL};
    as_fact_group           *g = as_facts_group(f, "contention", "Contention");
    as_times                 times = as_times_read(f, t);
    ratio_add(f, g, &times, why_not(f, t, &times));
    sensor_add(f, g, t, "contention.switches", "involuntary context switches", switches, "1");
    sensor_add(f, g, t, "contention.steal", "time stolen by the hypervisor", steal, "ns");
    sensor_add(f, g, t, "contention.pressure", "pressure stall", pressure, "ns");
    label_add(f, g);
    threads_add(f, g, t);
}

const as_analysis as_an_contention = {.name = "contention", .order = 70, .run = run};

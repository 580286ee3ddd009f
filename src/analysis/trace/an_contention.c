/* an_contention.c - was the machine idle?  Compares CPU time with wall time; looks at switches, steal and pressure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/evidence.h"

#define QUIET_SHARE     0.05
#define DISTURBED_SHARE 0.25
#define QUIET_EXCESS    0.10 /* of the mean over the median: the mean shows interruptions that the median hides */
#define HEAVY_EXCESS    0.50
#define QUIET_SWITCHES  20.0 /* per second; the kernel's own work causes a few */
#define STEAL_TICK_NS   10e6 /* the hypervisor counts stolen time in steps of this size */

static void ratio_add(assay_facts *f, as_fact_group *g, const as_times *times, const char *reason)
{
    double *ratios = AS_TAKE(&f->arena, double, times->n);
    size_t  n = 0, n_dirty = 0;
    for (size_t i = 0; !reason && ratios && i < times->n; i++)
        if (!isnan(times->cpu_ns[i]) && times->ns[i] > 0) {
            ratios[n++] = times->cpu_ns[i] / times->ns[i];
            n_dirty += ratios[n - 1] < AS_CLEAN_RATIO;
        }
    assay_metric median = as_median_metric(f, ratios, n, "ratio", "thread CPU time / wall time of the same sample",
                                           reason ? reason : "no sample has a wall time");
    assay_metric dirty = as_metric_unavailable("ratio", reason ? reason : "no sample has a wall time");
    if (n) {
        median.kind = ASSAY_DERIVED;
        dirty = as_metric_derived((double)n_dirty / (double)n, NAN, NAN, n, "ratio", "samples with CPU/wall below 0.97 / samples");
    }
    as_facts_add(f, g, "contention.cpu_share", "CPU time / wall time", median);
    as_facts_add(f, g, "contention.contaminated", "samples interrupted", dirty);
}

/* Adds a sensor under a name of our own. */
static void sensor_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const char *key, const char *label,
                       const char *sensor, const char *unit)
{
    int i = as_sensor_find(t, sensor);
    as_facts_add(f, g, key, label,
                 i >= 0 ? as_sensor_metric(f, t, (size_t)i) : as_metric_unavailable(unit, "the trace has no such sensor"));
}

/* The numbers of the sentence, as far as they are known. */
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

/* --- What speaks against an idle machine ---------------------------------------------------------------- */

typedef enum quiet { QUIET, DISTURBED, HEAVY } quiet;
/* The labels in files, and the words for readers. */
static const char *const labels[] = {[QUIET] = "quiet", [DISTURBED] = "disturbed", [HEAVY] = "heavily disturbed"};
static const char *const told[] = {[QUIET] = "idle", [DISTURBED] = "busy", [HEAVY] = "very busy"};

static const as_machine_state states[] = {[QUIET] = AS_MACHINE_IDLE, [DISTURBED] = AS_MACHINE_BUSY, [HEAVY] = AS_MACHINE_VERY_BUSY};
static const as_level         levels[] = {[QUIET] = AS_LEVEL_GOOD, [DISTURBED] = AS_LEVEL_WARN, [HEAVY] = AS_LEVEL_BAD};

/* The worst label of any check, and the words of those worse than "quiet". */
typedef struct testimony {
    quiet       worst;
    const char *against; /* "; against it speaks ..., ..." */
} testimony;

static quiet judge(double share, double quiet_up_to, double disturbed_up_to)
{
    return share <= quiet_up_to ? QUIET : share <= disturbed_up_to ? DISTURBED : HEAVY;
}

static void hear(assay_facts *f, testimony *all, quiet said, const char *words)
{
    all->worst = said > all->worst ? said : all->worst;
    if (said > QUIET)
        all->against = as_say(f, "%s%s%s", all->against, *all->against ? ", " : "; signs of other work: ", words);
}

/* A total of the machine as a share of the time that was measured. */
static assay_metric share_of(assay_facts *f, const char *key, const as_times *times, const char *formula)
{
    const assay_metric *m = as_facts_metric(f, key);
    if (!m || !as_metric_has(m))
        return as_metric_unavailable("ratio", m ? m->reason : "the trace has no such sensor");
    if (!(times->span_ns > 0))
        return as_metric_unavailable("ratio", "no sample was measured");
    return as_metric_derived(m->value / times->span_ns, NAN, NAN, m->n, "ratio", formula);
}

static const char *of_elapsed(assay_facts *f, const char *what, double share, const as_times *times)
{
    return as_say(f, "%s %s in %s (idle: up to %.0f %%)", what, as_say_number(f, share * times->span_ns, "ns"),
                  as_say_number(f, times->span_ns, "ns"), 100 * QUIET_SHARE);
}

/* Some task of the machine waited for a CPU.  It may not have been ours, so this check never says more than "disturbed". */
static void pressure_hear(assay_facts *f, as_fact_group *g, const as_times *times, testimony *all)
{
    assay_metric share = share_of(f, "contention.pressure", times, "pressure stall / time measured");
    as_facts_add(f, g, "contention.pressure_share", "pressure stall / time", share);
    if (as_metric_has(&share) && share.value > QUIET_SHARE)
        hear(f, all, DISTURBED, of_elapsed(f, "pressure stall", share.value, times));
}

static void steal_hear(assay_facts *f, as_fact_group *g, const as_times *times, testimony *all)
{
    assay_metric share = share_of(f, "contention.steal", times, "steal / time measured");
    as_facts_add(f, g, "contention.steal_share", "steal / time", share);
    if (as_metric_has(&share) && share.value * times->span_ns > STEAL_TICK_NS)
        hear(f, all, judge(share.value, QUIET_SHARE, DISTURBED_SHARE), of_elapsed(f, "steal", share.value, times));
}

/* Long samples see some switches on any machine, and most short samples see none: both the rate and the share must be high. */
static void switches_hear(assay_facts *f, const as_times *times, testimony *all)
{
    const assay_metric *m = as_facts_metric(f, "contention.switches");
    double              seconds = times->span_ns / 1e9;
    if (m && as_metric_has(m) && times->n && m->value > QUIET_SHARE * (double)times->n && m->value > QUIET_SWITCHES * seconds)
        hear(
            f, all, DISTURBED,
            as_say(f, "%.0f involuntary switches in %zu samples (idle: up to 5 %% of them, or 20 per second)", m->value, times->n));
}

static void mean_hear(assay_facts *f, as_fact_group *g, testimony *all)
{
    const assay_metric *mean = as_facts_metric(f, "latency.mean"), *median = as_facts_metric(f, "latency.median");
    bool   known = mean && median && as_metric_has(mean) && as_metric_has(median) && median->value > 0 && isfinite(mean->value);
    double excess = known ? mean->value / median->value - 1 : 0;
    as_facts_add(f, g, "contention.mean_excess", "mean above median",
                 known ? as_metric_derived(excess, NAN, NAN, median->n, "ratio", "latency.mean / latency.median - 1")
                       : as_metric_unavailable("ratio", "there is no median latency"));
    if (known)
        hear(f, all, judge(excess, QUIET_EXCESS, HEAVY_EXCESS),
             as_say(f, "the mean is %s, the median %s (idle: up to 10 %% above it)", as_say_number(f, mean->value, "ns"),
                    as_say_number(f, median->value, "ns")));
}

/* "quiet" only if all checks agree.  A missing check counts for nothing, but without CPU time the answer cannot be "quiet". */
static void label_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_times *times)
{
    const assay_metric *found = as_facts_metric(f, "contention.contaminated");
    testimony           all = {QUIET, ""};
    if (!found)
        return;
    assay_metric dirty = *found;
    if (strcmp(t->clock_name, "fake")) { /* otherwise time is simulated, and the machine does not matter */
        pressure_hear(f, g, times, &all);
        steal_hear(f, g, times, &all);
        switches_hear(f, times, &all);
        mean_hear(f, g, &all);
    }
    if (!as_metric_has(&dirty)) {
        f->machine = all.worst > QUIET ? states[all.worst] : AS_MACHINE_UNKNOWN;
        as_facts_note(f, "contention.label", all.worst > QUIET ? labels[all.worst] : "unknown");
        if (all.worst > QUIET)
            as_facts_find(f, g, levels[all.worst], "The machine was %s, although CPU time does not show it (%s)%s.",
                          told[all.worst], dirty.reason, all.against);
        else
            as_facts_find(f, g, AS_LEVEL_NOTE, "Cannot tell from CPU time whether the machine was idle: %s%s.", dirty.reason,
                          numbers(f));
        return;
    }
    quiet by_cpu = judge(dirty.value, QUIET_SHARE, DISTURBED_SHARE), worst = by_cpu > all.worst ? by_cpu : all.worst;
    f->machine = states[worst];
    as_facts_note(f, "contention.label", labels[worst]);
    as_facts_find(
        f, g, levels[worst],
        "The machine was %s: in %.1f %% of %llu samples the thread got less than 97 %% of its CPU (idle: up to 5 %%, busy: "
        "up to 25 %%)%s%s.",
        told[worst], 100 * dirty.value, (unsigned long long)dirty.n, all.against, numbers(f));
}

#define LATE_SHARE 0.001 /* of barriers; below, threads come together as they should */

/* Threads wait for the slowest one: a lost core shows at the barriers, and so does uneven work. */
static void threads_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    if (!t->n_barriers) /* one thread, or a device whose threads are not ours */
        return;
    assay_metric barriers = as_metric_counted(t->n_barriers, "1", "the thread pool");
    assay_metric late = as_metric_counted(t->n_late_waits, "1", "the thread pool");
    assay_metric switches = as_metric_counted(t->thread_switches, "1", "getrusage of each thread of the pool");
    as_facts_add(f, g, "contention.barriers", "barriers passed by the threads", barriers);
    as_facts_add(f, g, "contention.late", "waits at barriers of more than 20 us", late);
    as_facts_add(f, g, "contention.thread_switches", "involuntary switches of all threads", switches);
    double share = barriers.value > 0 ? late.value / barriers.value : 0;
    if (share <= LATE_SHARE)
        as_facts_find(f, g, AS_LEVEL_GOOD,
                      "The threads stayed together: at %.0f of %.0f barriers a thread waited for more than 20 us.", late.value,
                      barriers.value);
    else if (switches.value > 0)
        as_facts_find(f, g, AS_LEVEL_WARN,
                      "Other work took a core: at %.2f %% of %.0f barriers a thread waited for more than 20 us, and threads lost "
                      "their CPU %.0f times. Times with several threads include that wait.",
                      100 * share, barriers.value, switches.value);
    else
        as_facts_find(
            f, g, AS_LEVEL_NOTE, /* slow, but measured right */
            "The work is uneven: at %.2f %% of %.0f barriers a thread waited for more than 20 us, although no thread lost its CPU.",
            100 * share, barriers.value);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "contention", "Other work on the machine");
    as_times       times = as_times_read(f, t);
    ratio_add(f, g, &times, as_cpu_time_is_mute(f, t, &times));
    sensor_add(f, g, t, "contention.switches", "involuntary context switches", "switches.involuntary", "1");
    sensor_add(f, g, t, "contention.steal", "time stolen by the hypervisor", "cpu.steal", "ns");
    sensor_add(f, g, t, "contention.pressure", "pressure stall", "pressure.cpu", "ns");
    label_add(f, g, t, &times);
    threads_add(f, g, t);
}

const as_analysis as_an_contention = {.name = "contention", .order = 70, .run = run};

/* an_profile.c - every key that profiling guides read, under its name and in its unit, or null with the reason: docs/profile-keys.md. */
#include <math.h>
#include <string.h>

#include "analysis/trace/cache_model.h"
#include "analysis/trace/evidence.h"
#include "analysis/trace/profile_keys.h"

#define MIB        0x1p20
#define CACHE_TEXT "model of the loops: accesses and working set of each step against the size of each cache; docs/cache-model.md"

/* What the keys are made of, computed once. */
typedef struct sums {
    assay_metric  time; /* mean of a run, s */
    double        std_s, rate_std;
    double        flops, bytes;
    size_t        n_kernels, n_transfers;
    const char   *no_work; /* NULL: the work is known */
    as_limits     limits;
    bool          has_limits;
    double        memory_ns;                   /* of all bytes at the limits of where they lie; NaN: not known */
    as_cache_flow flow;                        /* of one run; n_levels 0: no model */
    double        peak, current, taken, given; /* bytes that the devices held; NaN: not recorded */
} sums;

static const char no_samples[] = "no sample was measured";

/* --- Time and work ------------------------------------------------------------------------------------------- */

static assay_metric mean_of(const double *x, size_t n, double scale, const char *unit, const char *source)
{
    assay_metric m = as_mean_metric(x, n, n, unit, source);
    if (!as_metric_has(&m))
        return m;
    m.value *= scale, m.lo *= scale, m.hi *= scale;
    return m;
}

static double deviation(const double *x, size_t n)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    for (size_t i = 0; i < n; i++)
        square += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
    return n > 1 ? sqrt(square / (double)(n - 1)) : (double)NAN;
}

/* The memory limit alone: a step without its operations. */
static double memory_ns_of(const as_limits *limits, const as_trace_step *s)
{
    as_trace_step bytes_only = *s;
    bytes_only.flops = bytes_only.issued_flops = bytes_only.special = 0;
    return as_limit_of_step(limits, &bytes_only).ns;
}

/* What one run touches: everything that stays, and the activations once. */
static double run_bytes(const assay_trace *t)
{
    double most = (double)(t->peak_bytes_observed ? t->peak_bytes_observed : t->peak_bytes_planned);
    return most + (double)t->param_bytes;
}

static void work_sum(const assay_trace *t, sums *s)
{
    s->no_work = t->n_steps ? NULL : "the trace has no steps";
    s->has_limits = as_limits_read(t, *t->device ? t->device : "cpu", t->threads > 0 ? t->threads : 1, &s->limits);
    s->memory_ns = s->has_limits ? 0 : (double)NAN;
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *step = &t->steps[i];
        as_cache_flow        flow;
        if (as_step_is_prologue(step))
            continue;
        if (as_step_is_transfer(step)) {
            s->n_transfers++;
            continue;
        }
        s->n_kernels++;
        s->flops += (double)step->flops;
        s->bytes += (double)step->bytes_read + (double)step->bytes_written;
        if (!s->has_limits)
            continue;
        double ns = step->bytes_read + step->bytes_written ? memory_ns_of(&s->limits, step) : 0;
        s->memory_ns += ns;
        if (as_cache_model_step(&s->limits, step, run_bytes(t), t->batch, &flow))
            as_cache_flow_add(&s->flow, &flow);
    }
}

static void times_sum(assay_facts *f, const assay_trace *t, sums *s)
{
    as_times times = as_times_read(f, t);
    s->std_s = s->rate_std = (double)NAN;
    s->time = as_metric_unavailable("s", no_samples);
    if (!times.n)
        return;
    s->time = mean_of(times.ns, times.n, 1e-9, "s", "wall time of the samples / their runs");
    s->std_s = deviation(times.ns, times.n) * 1e-9;
    double *rates = AS_TAKE(&f->arena, double, times.n);
    bool    ok = rates != NULL;
    for (size_t i = 0; ok && i < times.n; i++) {
        ok = times.ns[i] > 0;
        rates[i] = s->flops * 1e9 / times.ns[i];
    }
    if (ok)
        s->rate_std = deviation(rates, times.n);
}

/* The devices' allocators, by what they held whenever that changed. */
static void memory_sum(const assay_trace *t, sums *s)
{
    enum { MOST = 16 };
    const char *names[MOST];
    double      held[MOST];
    int         n = 0;
    s->current = s->taken = s->given = (double)NAN;
    s->peak = t->peak_bytes_observed ? (double)t->peak_bytes_observed : (double)NAN;
    for (size_t i = 0; i < t->n_metrics; i++) {
        const as_trace_metric *m = &t->metrics[i];
        int                    d = 0;
        if (strncmp(m->name, AS_METRIC_LIVE, strlen(AS_METRIC_LIVE)) || !isfinite(m->value))
            continue;
        while (d < n && strcmp(names[d], m->name))
            d++;
        if (d == MOST)
            continue;
        if (d == n)
            names[n] = m->name, held[n++] = 0;
        s->taken = (isnan(s->taken) ? 0 : s->taken) + fmax(0, m->value - held[d]);
        s->given = (isnan(s->given) ? 0 : s->given) + fmax(0, held[d] - m->value);
        held[d] = m->value;
    }
    for (int d = 0; d < n; d++)
        s->current = (isnan(s->current) ? 0 : s->current) + held[d];
}

/* --- Making metrics ------------------------------------------------------------------------------------------ */

/* value / time with the bounds of the time turned round. */
static assay_metric per_time(const sums *s, double value, const char *unit, const char *formula)
{
    const assay_metric *time = &s->time;
    if (!as_metric_has(time) || !(time->value > 0))
        return as_metric_unavailable(unit, as_metric_has(time) ? "the mean time is zero" : time->reason);
    if (s->no_work)
        return as_metric_unavailable(unit, s->no_work);
    bool bounded = time->lo > 0 && time->hi >= time->value;
    return as_metric_derived(value / time->value, bounded ? value / time->hi : (double)NAN,
                             bounded ? value / time->lo : (double)NAN, time->n, unit, formula);
}

static assay_metric plain(double value, uint64_t n, const char *unit, const char *source, const char *reason)
{
    return isfinite(value) ? as_metric_measured(value, (double)NAN, (double)NAN, n, unit, source)
                           : as_metric_unavailable(unit, reason);
}

static assay_metric sensor(assay_facts *f, const assay_trace *t, const char *name, double scale, const char *unit)
{
    int i = as_sensor_find(t, name);
    if (i < 0)
        return as_metric_unavailable(unit, as_say(f, "the trace has no sensor %s", name));
    assay_metric m = as_sensor_metric(f, t, (size_t)i);
    m.unit = unit;
    m.value *= scale, m.lo *= scale, m.hi *= scale;
    return m;
}

/* Seconds between the first and the last reading of a sensor; NaN: fewer than two. */
static double sensor_seconds(const assay_trace *t, const char *name)
{
    int      i = as_sensor_find(t, name);
    uint64_t first = 0, last = 0;
    size_t   n = 0;
    for (size_t k = 0; i >= 0 && k < t->n_readings; k++)
        if (t->readings[k].sensor == (uint32_t)i) {
            first = n ? first : t->readings[k].ticks;
            last = t->readings[k].ticks;
            n++;
        }
    double seconds = (double)(last - first) * t->ns_per_tick * 1e-9;
    return n > 1 && last > first && seconds > 0 ? seconds : (double)NAN;
}

/* A counter of energy or bytes as a rate. */
static assay_metric sensor_rate(assay_facts *f, const assay_trace *t, const char *name, double scale, const char *unit)
{
    assay_metric m = sensor(f, t, name, scale, unit);
    double       seconds = sensor_seconds(t, name);
    if (!as_metric_has(&m))
        return m;
    return isnan(seconds) ? as_metric_unavailable(unit, "the readings lie at one moment")
                          : as_metric_derived(m.value / seconds, (double)NAN, (double)NAN, m.n, unit,
                                              as_facts_keep(f, as_say(f, "%s, per second between its readings", m.source)));
}

static const as_trace_metric *metric_find(const assay_trace *t, const char *name)
{
    for (size_t i = t->n_metrics; i-- > 0;)
        if (!strcmp(t->metrics[i].name, name))
            return &t->metrics[i];
    return NULL;
}

static assay_metric percent(double share, uint64_t n, const char *formula, const char *reason)
{
    return isfinite(share) ? as_metric_derived(100 * share, (double)NAN, (double)NAN, n, "%", formula)
                           : as_metric_unavailable("%", reason);
}

/* --- Caches ---------------------------------------------------------------------------------------------------- */

/* 1 - misses / accesses by two hardware counters; unavailable: one of them is. */
static assay_metric counted_hits(assay_facts *f, const assay_trace *t, const char *misses, const char *accesses)
{
    assay_metric missed = sensor(f, t, misses, 1, "1"), all = sensor(f, t, accesses, 1, "1");
    if (!as_metric_has(&all))
        return as_metric_unavailable("%", all.reason);
    if (!as_metric_has(&missed))
        return as_metric_unavailable("%", missed.reason);
    if (!(all.value > 0) || missed.value > all.value)
        return as_metric_unavailable("%", "the hardware counters contradict one another");
    return as_metric_derived(100 * (1 - missed.value / all.value), (double)NAN, (double)NAN, all.n, "%",
                             as_facts_keep(f, as_say(f, "1 - %s / %s, hardware counters", misses, accesses)));
}

static assay_metric simulated_hits(const assay_trace *t, const char *misses)
{
    const as_trace_metric *missed = metric_find(t, misses), *all = metric_find(t, AS_METRIC_CG_ACCESSES);
    if (!missed || !all || !(all->value > 0) || missed->value > all->value)
        return as_metric_unavailable("%", "not simulated");
    return as_metric_modelled(100 * (1 - missed->value / all->value), (double)NAN, (double)NAN, "%",
                              "cachegrind: misses of its simulated caches in a run of a child / loads and stores");
}

static assay_metric modelled_hits(assay_facts *f, double share, const char *why_none, const char *counter_reason)
{
    if (isfinite(share))
        return as_metric_modelled(100 * share, (double)NAN, (double)NAN, "%", CACHE_TEXT);
    return as_metric_unavailable("%", counter_reason ? as_facts_keep(f, as_say(f, "%s; no model: %s", counter_reason, why_none))
                                                     : why_none);
}

/* Counted where the machine counts, else simulated where that was asked for, else modelled. */
static assay_metric hits(assay_facts *f, const assay_trace *t, const sums *s, const char *misses, const char *accesses,
                         const char *cachegrind, double share)
{
    assay_metric m = counted_hits(f, t, misses, accesses), simulated = simulated_hits(t, cachegrind);
    if (as_metric_has(&m))
        return m;
    if (as_metric_has(&simulated))
        return simulated;
    return modelled_hits(f, share,
                         s->has_limits ? "no step of the run has accesses to model"
                                       : "the sizes of the caches are not known: limits were not measured",
                         m.reason);
}

static assay_metric level_hits(assay_facts *f, const sums *s, int level)
{
    if (!s->has_limits)
        return as_metric_unavailable("%", "the sizes of the caches are not known: limits were not measured");
    return modelled_hits(f, as_cache_hit(&s->flow, level),
                         level < s->flow.n_levels ? "no access reaches this level: those before it serve all"
                                                  : "the device has no such level",
                         NULL);
}

/* --- The sections ------------------------------------------------------------------------------------------------ */

typedef struct filling {
    assay_facts         *f;
    const assay_trace   *t;
    const sums          *s;
    const as_fact_group *g;
    const char          *section;
} filling;

/* Only a key of the table can be added: the test that walks the table finds what is missing. */
static void add(const filling *x, const char *key, assay_metric m)
{
    for (size_t i = 0; i < as_n_profile_keys; i++) {
        const as_profile_key *k = &as_profile_keys[i];
        if (strcmp(k->section, x->section) || strcmp(k->key, key))
            continue;
        as_fact_group *g = as_facts_group(x->f, as_say(x->f, AS_PROFILE_PREFIX "%s", x->section), "");
        as_facts_add(x->f, g, as_say(x->f, AS_PROFILE_PREFIX "%s.%s", x->section, key), k->label, m);
        return;
    }
    x->f->status = as_fail(x->f->env, ASSAY_INTERNAL, "profile: the key %s.%s is not in the table of keys", x->section, key);
}

static const char *engine_reason(const assay_trace *t)
{
    const as_trace_metric *asked = metric_find(t, AS_METRIC_ASKED_NE);
    return asked && asked->value > 0
               ? "asked for, and refused: no device of this build runs steps on a Neural Engine, and this machine offers none"
               : "no step ran on a Neural Engine: no device of this build uses one";
}

static assay_metric instructions(assay_facts *f, const assay_trace *t)
{
    const as_trace_metric *counted = metric_find(t, AS_METRIC_CG_INSTRUCTIONS);
    if (counted && counted->value >= 0)
        return as_metric_counted((uint64_t)counted->value, "1",
                                 "cachegrind: instructions of one run of a child with the kernels that it can run");
    assay_metric m = sensor(f, t, "instructions", 1, "1");
    if (!as_metric_has(&m) || !t->n_runs)
        return m;
    return as_metric_derived(m.value / (double)t->n_runs, (double)NAN, (double)NAN, m.n, "1",
                             "hardware counter over the measured part / measured runs");
}

static void compute_add(filling *x)
{
    const sums  *s = x->s;
    const double batch = (double)x->t->batch;
    x->section = "compute";
    add(x, "time_mean", s->time);
    add(x, "time_std", plain(s->std_s, s->time.n, "s", "of the samples' times per run", "a deviation needs two samples"));
    assay_metric rate = per_time(s, s->flops, "flop/s", "useful flops of a run / time_mean");
    if (x->t->batch) {
        sums known = *s;
        known.no_work = NULL;
        add(x, "samples_per_second", per_time(&known, batch, "1/s", "batch / time_mean"));
    } else {
        add(x, "samples_per_second", as_metric_unavailable("1/s", "the model's batch size is fixed"));
    }
    add(x, "flops_mean", rate);
    add(x, "flops_std",
        isfinite(s->rate_std) && !s->no_work
            ? as_metric_derived(s->rate_std, (double)NAN, (double)NAN, s->time.n, "flop/s",
                                "deviation of flops / time over the samples")
            : as_metric_unavailable("flop/s", s->no_work ? s->no_work : "a deviation needs two samples"));
    assay_metric tera = per_time(s, s->flops * 1e-12, "TFLOP/s", "flops_mean / 1e12");
    add(x, "tflops", tera);
    double limit = s->has_limits ? s->limits.fma[0].rate : (double)NAN;
    add(x, "compute_efficiency",
        as_metric_has(&rate) ? percent(rate.value / limit, rate.n, "flops_mean / multiply-add limit of the device",
                                       "the device's multiply-add limit was not measured")
                             : as_metric_unavailable("%", rate.reason));
    add(x, "ne_tflops", as_metric_unavailable("TFLOP/s", engine_reason(x->t)));
    add(x, "ne_utilization", as_metric_unavailable("%", engine_reason(x->t)));
    add(x, "instructions", instructions(x->f, x->t));
}

static bool all_on_host(const assay_trace *t, const char **other)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (*t->steps[i].device && strcmp(t->steps[i].device, "cpu") && strcmp(t->steps[i].device, "host")) {
            *other = t->steps[i].device;
            return false;
        }
    return true;
}

static assay_metric utilization(const sums *s)
{
    if (!as_metric_has(&s->time) || !(s->time.value > 0))
        return as_metric_unavailable("%", as_metric_has(&s->time) ? "the mean time is zero" : s->time.reason);
    return percent(s->memory_ns * 1e-9 / s->time.value, s->time.n,
                   "time that the bytes take at the bandwidth of where they lie / time_mean",
                   "the device's memory limits were not measured");
}

static void memory_add(filling *x)
{
    const sums *s = x->s;
    const char *other = "", *not_recorded = "the trace does not hold what the devices allocated";
    x->section = "memory";
    add(x, "peak_usage", plain(s->peak / MIB, 1, "MiB", "most that the devices' allocators held", not_recorded));
    add(x, "current_usage",
        plain(s->current / MIB, 1, "MiB", "what the devices' allocators held after the last run", not_recorded));
    add(x, "total_allocated", plain(s->taken / MIB, 1, "MiB", "sum of all increases of what the devices held", not_recorded));
    add(x, "total_freed", plain(s->given / MIB, 1, "MiB", "sum of all decreases of what the devices held", not_recorded));
    assay_metric peak = sensor(x->f, x->t, "memory.resident.peak", 1 / MIB, "MiB");
    add(x, "peak_memory", peak);
    add(x, "unified_peak",
        all_on_host(x->t, &other)
            ? peak
            : as_metric_unavailable("MiB", as_say(x->f, "%s has memory of its own, as far as the record tells", other)));
    add(x, "bandwidth", per_time(s, s->bytes * 1e-9, "GB/s", "bytes that must be moved at least once / time_mean"));
    add(x, "bandwidth_utilization", s->no_work ? as_metric_unavailable("%", s->no_work) : utilization(s));
    add(x, "cache_hit_rate",
        hits(x->f, x->t, s, "cache.misses", "cache.loads", AS_METRIC_CG_LL_MISSES, as_cache_hit_any(&s->flow)));
    add(x, "l1_hit_rate", hits(x->f, x->t, s, "cache.l1.misses", "cache.loads", AS_METRIC_CG_L1_MISSES, as_cache_hit(&s->flow, 0)));
    add(x, "l2_hit_rate", level_hits(x->f, s, 1));
    add(x, "l3_hit_rate", level_hits(x->f, s, 2));
}

/* Of the memory controller where it counts; else the lines that the model lets the last cache fetch. */
static assay_metric dram(const filling *x)
{
    const sums  *s = x->s;
    assay_metric m = sensor_rate(x->f, x->t, "memory.dram.bytes", 1e-9, "GB/s");
    assay_metric chip = sensor_rate(x->f, x->t, "memory.dcs.bytes", 1e-9, "GB/s");
    if (as_metric_has(&m) || as_metric_has(&chip))
        return as_metric_has(&m) ? m : chip;
    if (!s->flow.n_levels || !as_metric_has(&s->time) || !(s->time.value > 0))
        return m;
    double bytes = s->flow.misses[s->flow.n_levels - 1] * AS_CACHE_LINE;
    return as_metric_modelled(bytes * 1e-9 / s->time.value, (double)NAN, (double)NAN, "GB/s",
                              "lines that the last cache fetches by the model of the loops / time_mean");
}

static double dram_limit(const sums *s)
{
    int last = s->limits.n_levels - 1;
    return s->has_limits && last >= 0 && !s->limits.level[last].bytes ? s->limits.level[last].bytes_per_s.rate : (double)NAN;
}

/* The package by its own counter; else, on Apple silicon, the sum of the chip's parts. */
static assay_metric power(assay_facts *f, const assay_trace *t)
{
    static const char *const parts[] = {"energy.cpu", "energy.gpu", "energy.ane", "energy.dram"};
    assay_metric             m = sensor_rate(f, t, "energy.package", 1, "W"), sum = m;
    uint64_t                 n = 0;
    double                   watt = 0;
    for (size_t i = 0; i < AS_COUNT(parts) && !as_metric_has(&m); i++) {
        assay_metric part = sensor_rate(f, t, parts[i], 1, "W");
        if (as_metric_has(&part))
            watt += part.value, n = part.n, sum = part;
    }
    if (as_metric_has(&m) || !n)
        return m;
    return as_metric_derived(watt, (double)NAN, (double)NAN, n, "W",
                             as_facts_keep(f, as_say(f, "CPU, GPU, ANE and DRAM together: %s", sum.source)));
}

static void hardware_add(filling *x)
{
    const sums *s = x->s;
    x->section = "hardware";
    add(x, "tflops", per_time(s, s->flops * 1e-12, "TFLOP/s", "useful flops of a run / time_mean / 1e12"));
    assay_metric used = dram(x);
    double       limit = dram_limit(s) * 1e-9;
    add(x, "memory_bandwidth", used);
    if (!as_metric_has(&used))
        add(x, "mc_utilization", as_metric_unavailable("%", used.reason));
    else if (!(limit > 0))
        add(x, "mc_utilization", as_metric_unavailable("%", "the limit of main memory was not measured"));
    else if (used.kind == ASSAY_MODELLED)
        add(x, "mc_utilization",
            as_metric_modelled(100 * used.value / limit, (double)NAN, (double)NAN, "%",
                               "modelled memory_bandwidth / measured limit of main memory"));
    else
        add(x, "mc_utilization", percent(used.value / limit, used.n, "memory_bandwidth / measured limit of main memory", ""));
    const assay_metric *rate = as_facts_metric(x->f, AS_PROFILE_PREFIX "memory.cache_hit_rate");
    add(x, "cache_hit_rate", rate ? *rate : as_metric_unavailable("%", "not analysed"));
    add(x, "ne_utilization", as_metric_unavailable("%", engine_reason(x->t)));
    add(x, "ne_cycles", as_metric_unavailable("1", engine_reason(x->t)));
    add(x, "ne_power", sensor_rate(x->f, x->t, "energy.ane", 1, "W"));
    add(x, "power_usage", power(x->f, x->t));
    add(x, "temperature", sensor(x->f, x->t, "cpu.temperature", 1, "celsius"));
    add(x, "frequency", sensor(x->f, x->t, "cpu.frequency", 1e-6, "MHz"));
}

static void stream_add(filling *x)
{
    const sums *s = x->s;
    as_kept     k = as_kept_read(x->f, x->t);
    double     *kernels = AS_TAKE(&x->f->arena, double, k.n_runs), *moves = AS_TAKE(&x->f->arena, double, k.n_runs);
    size_t      n = 0;
    for (size_t i = 0; kernels && moves && i < k.n_runs; i++)
        if (as_kept_counts(&k, &k.runs[i]) && !k.by_segment) {
            kernels[n] = k.runs[i].explained_ns - k.runs[i].transfer_ns;
            moves[n++] = k.runs[i].transfer_ns;
        }
    const char *reason = "no span of a step was kept";
    x->section = "stream";
    add(x, "kernel_time",
        n ? mean_of(kernels, n, 1e-9, "s", "spans of the steps that compute, per run") : as_metric_unavailable("s", reason));
    add(x, "memory_time",
        n ? mean_of(moves, n, 1e-9, "s", "spans of the steps that move data between devices, per run")
          : as_metric_unavailable("s", reason));
    add(x, "num_kernels", s->no_work ? as_metric_unavailable("1", s->no_work) : as_metric_counted(s->n_kernels, "1", "plan"));
    add(x, "num_transfers", s->no_work ? as_metric_unavailable("1", s->no_work) : as_metric_counted(s->n_transfers, "1", "plan"));
}

static void groups_make(assay_facts *f)
{
    as_facts_group(f, AS_PROFILE_PREFIX "compute", "Compute, by the guides' names");
    as_facts_group(f, AS_PROFILE_PREFIX "memory", "Memory, by the guides' names");
    as_facts_group(f, AS_PROFILE_PREFIX "hardware", "Hardware, by the guides' names");
    as_facts_group(f, AS_PROFILE_PREFIX "stream", "Kernels and transfers, by the guides' names");
}

/* Each cache of each step, as the model has it. */
static void layers_add(assay_facts *f, const assay_trace *t, const sums *s)
{
    static const char *const columns[] = {"name|layer", "accesses|accesses", "l1|L1 hits", "l2|L2 hits",
                                          "l3|L3 hits", "any|any cache",     NULL};
    if (!s->flow.n_levels)
        return;
    as_fact_group *g = as_facts_group(f, AS_PROFILE_PREFIX "memory", "");
    as_table      *table = as_facts_table(f, g, "caches", "Cache hits per layer, modelled", columns);
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *step = &t->steps[i];
        as_cache_flow        flow;
        if (as_step_is_prologue(step) || as_step_is_transfer(step) ||
            !as_cache_model_step(&s->limits, step, run_bytes(t), t->batch, &flow))
            continue;
        as_cell c[6] = {{.text = *step->name ? step->name : "-"},
                        {.metric = as_metric_modelled(flow.accesses, (double)NAN, (double)NAN, "1", CACHE_TEXT)}};
        for (int k = 0; k < 3; k++)
            c[2 + k].metric = modelled_hits(f, as_cache_hit(&flow, k), "no access reaches this level", NULL);
        c[5].metric = modelled_hits(f, as_cache_hit_any(&flow), "the step has no accesses", NULL);
        as_facts_row(f, table, c);
    }
}

static void run(assay_facts *f, const assay_trace *t)
{
    sums    s = {.no_work = NULL};
    filling x = {.f = f, .t = t, .s = &s};
    if (!t->n_steps && !t->n_samples)
        return; /* nothing was profiled: a recording of another program */
    groups_make(f);
    const as_trace_metric *asked = metric_find(t, AS_METRIC_ASKED_NE);
    if (asked && asked->value > 0)
        as_facts_find(f, as_facts_group(f, AS_PROFILE_PREFIX "hardware", ""), AS_LEVEL_WARN,
                      "The Neural Engine was asked for and refused: %s ran the network.",
                      *t->device ? t->device : "another device");
    work_sum(t, &s);
    times_sum(f, t, &s);
    memory_sum(t, &s);
    compute_add(&x);
    memory_add(&x);
    hardware_add(&x);
    stream_add(&x);
    layers_add(f, t, &s);
}

const as_analysis as_an_profile = {.name = "profile", .order = 70, .run = run};

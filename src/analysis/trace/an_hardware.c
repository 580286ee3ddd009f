/* an_hardware.c - what the sensors saw over the run: one course per sensor that was read often enough, and what each device did. */
#include <math.h>
#include <string.h>

#include "analysis/trace/devices.h"
#include "trace/limit.h"

enum { LEAST_READINGS = 4, MAX_POINTS = 400 };

/* --- Courses ---------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *sensor, *label, *unit; /* unit of the course */
    double      factor;                /* of a difference per second; 0: the value itself */
} courses[] = {
    {"cpu.time", "CPU time per second", "ratio", 1e-9},
    {"memory.resident", "resident memory", "byte", 0},
    {"memory.resident.peak", "peak of resident memory so far", "byte", 0},
    {"faults.minor", "minor page faults", "1/s", 1},
    {"faults.major", "major page faults", "1/s", 1},
    {"switches.involuntary", "involuntary switches", "1/s", 1},
    {"switches.voluntary", "voluntary switches", "1/s", 1},
    {"energy.package", "power", "watt", 1},
    {"cpu.frequency", "clock rate", "hertz", 0},
    {"cpu.temperature", "temperature", "celsius", 0},
    {"pressure.cpu", "stalled for a CPU", "ratio", 1e-9},
    {"pressure.memory", "stalled for memory", "ratio", 1e-9},
};

/* At most MAX_POINTS, each the mean over its part of the run: the first and the last reading of the part for a rate. */
static void course_add(assay_facts *f, const assay_trace *t, size_t which)
{
    int     id = as_sensor_find(t, courses[which].sensor);
    size_t  n = 0, out = 0;
    double *at = AS_TAKE(&f->arena, double, t->n_readings), *value = AS_TAKE(&f->arena, double, t->n_readings);
    if (id < 0 || !at || !value)
        return;
    for (size_t i = 0; i < t->n_readings; i++)
        if (t->readings[i].sensor == (uint32_t)id && isfinite(t->readings[i].value)) {
            at[n] = (double)t->readings[i].ticks * t->ns_per_tick / 1e9;
            value[n++] = t->readings[i].value;
        }
    if (n < LEAST_READINGS)
        return;
    size_t  stride = (n + MAX_POINTS - 1) / MAX_POINTS;
    double *x = AS_TAKE(&f->arena, double, n), *y = AS_TAKE(&f->arena, double, n);
    for (size_t i = stride; x && y && i < n; i += stride) {
        double seconds = at[i] - at[i - stride];
        if (!(seconds > 0))
            continue;
        x[out] = at[i] - at[0];
        y[out++] = courses[which].factor > 0 ? (value[i] - value[i - stride]) * courses[which].factor / seconds : value[i];
    }
    if (out < LEAST_READINGS - 1)
        return;
    as_fact_group *g = as_facts_group(f, "hardware", "Hardware over the run");
    as_facts_series(f, g,
                    &(as_series){.key = courses[which].sensor,
                                 .label = courses[which].label,
                                 .x_unit = "s",
                                 .y_unit = courses[which].unit,
                                 .kind = courses[which].factor > 0 ? ASSAY_DERIVED : ASSAY_MEASURED,
                                 .source = t->sensors[id].source && *t->sensors[id].source ? t->sensors[id].source : "a sensor",
                                 .x = x,
                                 .y = y,
                                 .n = out});
}

/* --- Devices ------------------------------------------------------------------------------------------------------------- */

static assay_metric rate(double work, double ns, double share, const char *unit, const char *reason)
{
    return ns > 0 && work >= 0 ? as_metric_derived(work * 1e9 / ns, NAN, NAN, 1, unit, "work of its steps / time of its steps")
                               : as_metric_unavailable(unit, share >= 0 ? "it had no time" : reason);
}

static assay_metric limit_of(double limit, const char *unit)
{
    return limit > 0 ? as_metric_measured(limit, NAN, NAN, 1, unit, "limits of this trace")
                     : as_metric_unavailable(unit, "no such limit was measured for this device");
}

static void devices_add(assay_facts *f, const assay_trace *t)
{
    static const char *const columns[] = {"device|device",
                                          "flop_rate|work rate",
                                          "flop_limit|compute limit",
                                          "byte_rate|byte rate",
                                          "byte_limit|memory limit",
                                          "utilisation|share of the run's time",
                                          NULL};
    as_device_shares         s = as_device_shares_read(f, t);
    as_kept                  k = as_kept_read(f, t);
    const assay_metric      *clean = as_facts_metric(f, "layers.undisturbed_runs");
    if (!s.n || !k.steps || !k.n_clean || (clean && clean->value < AS_CLEAN_ENOUGH))
        return;
    as_fact_group *g = as_facts_group(f, "devices", "Devices");
    as_table      *table = as_facts_table(f, g, "rates", "What each device did, while it had work", columns);
    for (int i = 0; i < s.n; i++) {
        double    ns = 0, flops = 0, bytes = 0;
        as_limits m = {.n_levels = 0};
        bool      known = as_limits_read(t, s.devices[i].name, t->threads > 0 ? t->threads : 1, &m);
        for (size_t j = 0; j < t->n_steps; j++) {
            const as_trace_step *step = &t->steps[j];
            if (as_step_is_prologue(step) || as_step_is_transfer(step) || strcmp(step->device, s.devices[i].name))
                continue;
            ns += k.steps[j].clean_sum_ns / (double)k.n_clean;
            flops += (double)step->flops;
            bytes += (double)step->bytes_read + (double)step->bytes_written;
        }
        double wall = k.clean_wall_ns / (double)k.n_clean;
        as_facts_row(f, table,
                     (as_cell[]){{.text = s.devices[i].name},
                                 {.metric = rate(flops, ns, 0, "flop/s", "")},
                                 {.metric = limit_of(known ? m.fma[0].rate : (double)NAN, "flop/s")},
                                 {.metric = rate(bytes, ns, 0, "byte/s", "")},
                                 {.metric = limit_of(known && m.n_levels ? m.level[m.n_levels - 1].bytes_per_s.rate : (double)NAN,
                                                     "byte/s")},
                                 {.metric = wall > 0 ? as_metric_derived(ns / wall, NAN, NAN, k.n_clean, "ratio",
                                                                         "time of its steps / time of the run")
                                                     : as_metric_unavailable("ratio", "no run has a time")}});
    }
}

static void run(assay_facts *f, const assay_trace *t)
{
    for (size_t i = 0; i < AS_COUNT(courses); i++)
        course_add(f, t, i);
    if (t->n_arms <= 1)
        devices_add(f, t);
}

const as_analysis as_an_hardware = {
    .name = "hardware", .order = 62, .of = 1u << AS_OF_NETWORK | 1u << AS_OF_SESSION | 1u << AS_OF_PROGRAM, .run = run};

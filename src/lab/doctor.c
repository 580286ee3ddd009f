/* doctor.c - everything that can be measured here, and why the rest cannot, as one JSON object.
 *
 * Sensors are tried: a value counts as available only when it has just been read. */
#include "lab/doctor.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/metric.h"
#include "base/plugs.h"
#include "base/stats.h"
#include "base/text.h"
#include "sensor/sensor.h"

enum { N_OTHERS = 32, N_COSTS = 5 }; /* upper bound of the facts and libraries that may be missing */

typedef struct tried {
    const as_sensor *sensor;
    bool             available[AS_SENSOR_MAX_VALUES];
    char             why[AS_SENSOR_MAX_VALUES][256];
    double           values[AS_SENSOR_MAX_VALUES];
} tried;

typedef struct absence {
    char what[64], why[256];
} absence;

typedef struct doctor {
    as_json    w;
    as_machine machine;
    tried     *sensors;
    size_t     n_sensors;
    absence   *missing; /* one entry for each value of a sensor and each other fact */
    size_t     n_missing, cap_missing;
} doctor;

static void missing_add(doctor *d, const char *what, const char *why)
{
    assert(d->n_missing < d->cap_missing);
    absence *a = &d->missing[d->n_missing++];
    snprintf(a->what, sizeof a->what, "%s", what);
    snprintf(a->why, sizeof a->why, "%s", why);
}

static void put_fact(doctor *d, const char *key, const char *what, const as_known_text *fact)
{
    as_json_key_text(&d->w, key, fact->known ? fact->text : NULL);
    if (!fact->known)
        missing_add(d, what, fact->text);
}

/* A metric that may not be shown is a bug of ours; it is reported as such, not silently left out. */
static void put_metric(doctor *d, const char *key, assay_metric m)
{
    as_json_key(&d->w, key);
    if (!as_json_metric(&d->w, &m))
        as_json_null(&d->w);
}

static void put_count(doctor *d, const char *key, const char *what, const as_known_count *fact, const char *unit,
                      const char *source)
{
    put_metric(d, key, fact->known ? as_metric_counted(fact->value, unit, source) : as_metric_unavailable(unit, fact->why));
    if (!fact->known)
        missing_add(d, what, fact->why);
}

/* --- The machine ---------------------------------------------------------------------------------------- */

static void isa_put(doctor *d)
{
    as_json_key(&d->w, "isa");
    as_json_array(&d->w);
    if (d->machine.isa.known) {
        for (const char *at = d->machine.isa.text; *at;) {
            size_t n = strcspn(at, " ");
            as_json_text_n(&d->w, at, n);
            at += n + (at[n] == ' ');
        }
    } else {
        missing_add(d, "isa", d->machine.isa.text);
    }
    as_json_array_end(&d->w);
}

static void caches_put(doctor *d)
{
    as_json    *w = &d->w;
    const char *source = d->machine.is_virtual ? "the system, as reported by the hypervisor" : "the system";
    as_json_key(w, "caches");
    as_json_array(w);
    for (int i = 0; i < d->machine.n_caches; i++) {
        const as_machine_cache *c = &d->machine.caches[i];
        as_json_object(w);
        as_json_key_i64(w, "level", c->level);
        as_json_key_text(w, "type", c->type);
        put_metric(d, "size", as_metric_counted(c->bytes, "byte", source));
        put_metric(d, "line",
                   c->line_bytes ? as_metric_counted(c->line_bytes, "byte", source)
                                 : as_metric_unavailable("byte", "the system does not say"));
        as_json_key_text(w, "shared_by_cpus", c->shared[0] ? c->shared : NULL);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    if (!d->machine.n_caches)
        missing_add(d, "caches", d->machine.caches_why);
}

static void machine_put(doctor *d)
{
    const as_machine *m = &d->machine;
    as_json          *w = &d->w;
    char              fingerprint[17];
    as_machine_fingerprint(fingerprint);
    as_json_key_text(w, "fingerprint", fingerprint);
    as_json_key(w, "cpu");
    as_json_object(w);
    put_fact(d, "model", "cpu.model", &m->model);
    put_fact(d, "vendor", "cpu.vendor", &m->vendor);
    put_fact(d, "microcode", "cpu.microcode", &m->microcode);
    put_count(d, "cores", "cpu.cores", &m->cores, "1", "sysconf(_SC_NPROCESSORS_ONLN)");
    put_metric(d, "allowed", as_metric_counted((uint64_t)m->allowed, "1", "CPUs that this thread may use"));
    as_json_object_end(w);
    caches_put(d);
    isa_put(d);
    put_count(d, "memory", "memory", &m->memory_bytes, "byte", "the system");
    put_fact(d, "os", "os", &m->os);
    put_fact(d, "kernel", "kernel", &m->kernel);
    put_fact(d, "governor", "governor", &m->governor);
    put_fact(d, "loadavg", "loadavg", &m->loadavg);
    as_json_key(w, "virtual");
    as_json_object(w);
    as_json_key_bool(w, "is", m->is_virtual);
    as_json_key_text(w, "hypervisor", m->is_virtual ? m->hypervisor.text : NULL);
    as_json_object_end(w);
}

/* --- Sensors ---------------------------------------------------------------------------------------------- */

static bool sensor_try(const as_sensor *sensor, tried *out)
{
    void *state = calloc(1, sensor->state_bytes ? sensor->state_bytes : 1);
    if (!state)
        return false;
    out->sensor = sensor;
    bool is_open = sensor->open(state, out->available, out->why);
    if (is_open)
        sensor->read(state, out->values);
    for (int i = 0; i < sensor->n_values; i++) {
        if (is_open && out->available[i] && isnan(out->values[i]))
            snprintf(out->why[i], sizeof out->why[i], "the sensor opens, but the first reading failed");
        out->available[i] = is_open && out->available[i] && !isnan(out->values[i]);
        if (!out->available[i] && !out->why[i][0])
            snprintf(out->why[i], sizeof out->why[i], "%s cannot be read here", sensor->values[i].source);
    }
    if (is_open && sensor->close)
        sensor->close(state);
    free(state);
    return true;
}

static const tried *tried_find(const doctor *d, const char *name)
{
    for (size_t i = 0; i < d->n_sensors; i++)
        if (!strcmp(d->sensors[i].sensor->name, name))
            return &d->sensors[i];
    return NULL;
}

static const char *const not_built = "this sensor does not exist on this system";

/* {"available": .., "reason": ..} of a sensor's first value; the object stays open for more. */
static const tried *summary_open(doctor *d, const char *key, const char *sensor)
{
    const tried *t = tried_find(d, sensor);
    bool         available = t && t->available[0];
    as_json_key(&d->w, key);
    as_json_object(&d->w);
    as_json_key_bool(&d->w, "available", available);
    as_json_key_text(&d->w, "reason", available ? NULL : t ? t->why[0] : not_built);
    if (!t)
        missing_add(d, sensor, not_built);
    return t;
}

static void summary_put(doctor *d, const char *key, const char *sensor)
{
    const tried *t = summary_open(d, key, sensor);
    if (t && t->available[0]) {
        const as_sensor_value *v = &t->sensor->values[0];
        put_metric(d, "now", as_metric_measured(t->values[0], NAN, NAN, 1, v->unit, v->source));
    }
    as_json_object_end(&d->w);
}

static void perf_put(doctor *d)
{
    int64_t      paranoid;
    const tried *t = summary_open(d, "perf_event", "perf");
    as_json_key(&d->w, "paranoid");
    if (as_perf_paranoid(&paranoid))
        as_json_i64(&d->w, paranoid);
    else
        as_json_null(&d->w);
    as_json_key_text(&d->w, "probe", t && t->available[0] && t->why[0][0] ? t->why[0] : NULL);
    as_json_object_end(&d->w);
}

static void sensors_put(doctor *d)
{
    as_json *w = &d->w;
    as_json_key(w, "sensors");
    as_json_array(w);
    for (size_t i = 0; i < d->n_sensors; i++) {
        const tried *t = &d->sensors[i];
        for (int j = 0; j < t->sensor->n_values; j++) {
            const as_sensor_value *v = &t->sensor->values[j];
            as_json_object(w);
            as_json_key_text(w, "sensor", t->sensor->name);
            as_json_key_text(w, "name", v->name);
            as_json_key_text(w, "meaning", v->meaning);
            as_json_key_bool(w, "per_sample", t->sensor->per_sample);
            put_metric(d, "now",
                       t->available[j] ? as_metric_measured(t->values[j], NAN, NAN, 1, v->unit, v->source)
                                       : as_metric_unavailable(v->unit, t->why[j]));
            as_json_object_end(w);
            if (!t->available[j])
                missing_add(d, v->name, t->why[j]);
        }
    }
    as_json_array_end(w);
}

/* --- Clocks ----------------------------------------------------------------------------------------------- */

static uint64_t counter_read(void) { return as_clock_now(&(as_clock){.kind = AS_CLOCK_COUNTER}); }

static assay_metric cost_measure(uint64_t (*f)(void))
{
    double costs[N_COSTS];
    for (int i = 0; i < N_COSTS; i++)
        costs[i] = as_clock_cost_ns(f);
    as_sort(costs, N_COSTS);
    return as_metric_measured(costs[N_COSTS / 2], costs[0], costs[N_COSTS - 1], N_COSTS, "ns",
                              "median, least and most of batches timed by the monotonic clock");
}

static void clock_put(doctor *d, const char *name, uint64_t (*f)(void), assay_metric ns_per_tick, assay_metric spread)
{
    as_json_object(&d->w);
    as_json_key_text(&d->w, "name", name);
    put_metric(d, "cost_ns", cost_measure(f));
    put_metric(d, "ns_per_tick", ns_per_tick);
    put_metric(d, "spread", spread);
    as_json_object_end(&d->w);
}

static void clocks_put(doctor *d)
{
    as_clock clock;
    as_clock_open(&clock);
    as_json_key(&d->w, "clocks");
    as_json_array(&d->w);
    if (clock.kind == AS_CLOCK_COUNTER) {
        double rate = clock.ns_per_tick, spread = clock.calibration_spread;
        clock_put(
            d, clock.name, counter_read,
            as_metric_measured(rate, rate * (1 - spread), rate * (1 + spread), 3, "ns", "calibrated against the monotonic clock"),
            as_metric_measured(spread, NAN, NAN, 3, "ratio", "calibration windows, most minus least"));
    } else {
        missing_add(d, "clock.counter", clock.why);
    }
    assay_metric one = as_metric_counted(1, "ns", "clock_gettime counts nanoseconds");
    assay_metric none = as_metric_unavailable("ratio", "not calibrated: the system gives nanoseconds");
    clock_put(d, "monotonic", as_monotonic_ns, one, none);
    clock_put(d, "thread cpu", as_thread_cpu_ns, one, none);
    as_json_array_end(&d->w);
}

/* --- Software ----------------------------------------------------------------------------------------------- */

static void opencl_put(doctor *d)
{
#if defined(__APPLE__)
    const char *name = "/System/Library/Frameworks/OpenCL.framework/OpenCL";
#else
    const char *name = "libOpenCL.so.1";
#endif
    void       *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    const char *why = library ? NULL : dlerror();
    as_json_object(&d->w);
    as_json_key_text(&d->w, "name", "OpenCL");
    as_json_key_bool(&d->w, "found", library != NULL);
    as_json_key_text(&d->w, "file", library ? name : NULL);
    as_json_key_text(&d->w, "reason", library ? NULL : why ? why : "dlopen failed");
    as_json_object_end(&d->w);
    if (library)
        dlclose(library);
    else
        missing_add(d, "OpenCL", why ? why : "dlopen failed");
}

static void software_put(doctor *d)
{
    as_json *w = &d->w;
    as_json_key(w, "software");
    as_json_object(w);
    as_json_key_text(w, "assay", ASSAY_VERSION);
    as_json_key_text(w, "build", as_build_text);
    put_fact(d, "libc", "libc", &d->machine.libc);
    as_json_object_end(w);
    as_json_key(w, "libraries");
    as_json_array(w);
    as_json_object(w);
    as_json_key_text(w, "name", "jansson");
    as_json_key_bool(w, "found", true);
    as_json_key_text(w, "version", JANSSON_VERSION);
    as_json_object_end(w);
    opencl_put(d);
    as_json_array_end(w);
}

static void absence_put(doctor *d, const char *what, const char *why)
{
    as_json_object(&d->w);
    as_json_key_text(&d->w, "what", what);
    as_json_key_text(&d->w, "why", why);
    as_json_object_end(&d->w);
}

/* What cannot be measured here, then what the build left out. */
static void missing_put(doctor *d)
{
    as_json_key(&d->w, "unavailable");
    as_json_array(&d->w);
    for (size_t i = 0; i < d->n_missing; i++)
        absence_put(d, d->missing[i].what, d->missing[i].why);
    for (const as_left_out *p = as_left_out_table; p->plug; p++)
        absence_put(d, p->plug, p->why);
    as_json_array_end(&d->w);
}

static void report_put(doctor *d, FILE *file)
{
    as_json_start(&d->w, file, true);
    as_json_object(&d->w);
    as_json_key_text(&d->w, "schema", "assay.doctor/1");
    machine_put(d);
    summary_put(d, "steal", "steal");
    perf_put(d);
    summary_put(d, "rapl", "rapl");
    summary_put(d, "psi", "psi");
    summary_put(d, "temperature", "temp");
    summary_put(d, "frequency", "freq");
    clocks_put(d);
    sensors_put(d);
    software_put(d);
    missing_put(d);
    as_json_object_end(&d->w);
    as_json_finish(&d->w);
}

static bool doctor_open(doctor *d)
{
    size_t n = 0, n_values = 0;
    for (; as_sn_table[n]; n++)
        n_values += (size_t)as_sn_table[n]->n_values;
    d->cap_missing = n_values + N_OTHERS;
    d->sensors = calloc(n + 1, sizeof *d->sensors);
    d->missing = calloc(d->cap_missing, sizeof *d->missing);
    if (!d->sensors || !d->missing)
        return false;
    for (; d->n_sensors < n; d->n_sensors++)
        if (!sensor_try(as_sn_table[d->n_sensors], &d->sensors[d->n_sensors]))
            return false;
    as_machine_read(&d->machine);
    return true;
}

assay_status assay_doctor(assay_env *env, const char *path)
{
    as_out out;
    AS_TRY(as_out_open(env, path, &out));
    assay_status status = as_doctor_write(env, out.file);
    if (status == ASSAY_OK)
        return as_out_commit(env, &out);
    as_out_abandon(&out);
    return status;
}

assay_status as_doctor_write(assay_env *env, FILE *file)
{
    doctor *d = calloc(1, sizeof *d);
    bool    ok = d && doctor_open(d);
    if (ok)
        report_put(d, file);
    if (d) {
        free(d->sensors);
        free(d->missing);
    }
    free(d);
    if (!ok)
        return as_fail(env, ASSAY_NO_MEMORY, "doctor: not enough memory to try the sensors");
    if (fflush(file) || ferror(file))
        return as_fail(env, ASSAY_IO, "doctor: the findings could not be written");
    return ASSAY_OK;
}

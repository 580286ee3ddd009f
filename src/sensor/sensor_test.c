/* sensor_test.c - the sensors of this machine: each has a value or a reason, and can be switched off. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/metric.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"
#include "tests/runner/test.h"

static assay_env *fake_env(void)
{
    static assay_env env;
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 0);
    return &env;
}

static size_t table_values(void)
{
    size_t n = 0;
    for (size_t i = 0; as_sn_table[i]; i++)
        n += (size_t)as_sn_table[i]->n_values;
    return n;
}

/* The id of a trace sensor by name; the test fails when there is none. */
static uint32_t id_of(const assay_trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_sensors; i++)
        if (!strcmp(t->sensors[i].name, name))
            return (uint32_t)i;
    fail("no sensor %s", name);
}

static bool has_reading(const assay_trace *t, uint32_t sensor)
{
    for (size_t i = 0; i < t->n_readings; i++)
        if (t->readings[i].sensor == sensor)
            return true;
    return false;
}

/* The named sensors, open, and a trace that may describe them. */
typedef struct rig {
    assay_env   *env;
    as_sensors  *sensors;
    assay_trace *trace;
} rig;

static rig rig_open(const char *which)
{
    rig r = {.env = fake_env()};
    expect_ok(r.env, as_trace_new(r.env, &r.trace));
    expect_ok(r.env, as_sensors_open(r.env, which, &r.sensors));
    return r;
}

static rig rig_described(const char *which)
{
    rig r = rig_open(which);
    expect_ok(r.env, as_sensors_describe(r.env, r.sensors, r.trace));
    return r;
}

static void rig_close(rig *r)
{
    as_sensors_close(r->sensors);
    assay_trace_free(r->trace);
}

Test(sensor, every_plug_is_described_whole)
{
    static const char *const units[] = {"1", "byte", "ns", "ratio", "hertz", "celsius", "joule"};
    for (size_t i = 0; as_sn_table[i]; i++) {
        const as_sensor *s = as_sn_table[i];
        expect(s->name && s->help && s->open && s->read);
        expect(s->n_values > 0 && s->n_values <= AS_SENSOR_MAX_VALUES);
        for (int j = 0; j < s->n_values; j++) {
            const as_sensor_value *v = &s->values[j];
            bool                   unit_known = false;
            expect(v->name && *v->name && v->source && *v->source);
            expect(!strcmp(v->meaning, "delta") || !strcmp(v->meaning, "level") || !strcmp(v->meaning, "peak"));
            for (size_t k = 0; k < AS_COUNT(units); k++)
                unit_known = unit_known || !strcmp(v->unit, units[k]);
            expect(unit_known);
        }
    }
}

Test(sensor, each_value_has_a_reading_or_a_reason)
{
    rig          r = rig_described("all");
    as_sensors  *s = r.sensors;
    assay_trace *t = r.trace;
    expect_eq(t->n_sensors, table_values());
    expect(as_trace_reserve(t, 0, 0, 0, as_sensors_n_values(s)));
    as_sensors_read(s, false, 5, 9, t);
    expect_eq(t->n_readings, as_sensors_n_values(s));
    for (uint32_t i = 0; i < t->n_sensors; i++) {
        expect(has_reading(t, i) == !t->sensors[i].reason);
        expect(!t->sensors[i].reason || t->sensors[i].reason[0]);
    }
    expect_eq(t->readings[0].ticks, 5);
    expect_eq(t->readings[0].sample, 9);
    rig_close(&r);
}

Test(sensor, switched_off_they_say_so_and_read_nothing)
{
    rig          r = rig_described("none");
    as_sensors  *s = r.sensors;
    assay_trace *t = r.trace;
    expect_eq(as_sensors_n_values(s), 0);
    expect(as_trace_reserve(t, 0, 0, 0, 64));
    as_sensors_read(s, false, 0, 0, t);
    as_sensors_read(s, true, 0, 0, t);
    expect_eq(t->n_readings, 0);
    expect_eq(t->n_sensors, table_values());
    for (size_t i = 0; i < t->n_sensors; i++)
        expect_str(t->sensors[i].reason, "switched off by --sensors");
    as_sensors_close(NULL);
    rig_close(&r);
}

Test(sensor, a_list_opens_what_it_names)
{
    rig          r = rig_described("rusage,cputime");
    as_sensors  *s = r.sensors;
    assay_trace *t = r.trace;
    expect_eq(as_sensors_n_values(s), 5);
    expect(!t->sensors[id_of(t, "faults.minor")].reason);
    expect(!t->sensors[id_of(t, "cpu.time")].reason);
    expect_str(t->sensors[id_of(t, "memory.resident")].reason, "switched off by --sensors");
    rig_close(&r);
}

Test(sensor, an_unknown_name_gets_the_nearest)
{
    assay_env  *env = fake_env();
    as_sensors *s = NULL;
    expect_fails(env, as_sensors_open(env, "rusge", &s), ASSAY_BAD_INPUT, "unknown sensor \"rusge\"; did you mean \"rusage\"?");
    expect_has(assay_message(env), "cputime, ");
    expect_fails(env, as_sensors_open(env, "rusage,", &s), ASSAY_BAD_INPUT, "unknown sensor \"\"");
    expect_fails(env, as_sensors_open(env, "", &s), ASSAY_BAD_INPUT, "unknown sensor \"\"");
    expect_fails(env, as_sensors_open(env, "rusage,all", &s), ASSAY_BAD_INPUT, "unknown sensor \"all\"");
    expect_fails(env, as_sensors_open(env, "qqqqqqqqqqqq", &s), ASSAY_BAD_INPUT, "unknown sensor \"qqqqqqqqqqqq\"; use all");
    expect(!s);
}

Test(sensor, readings_find_their_sensors_behind_others)
{
    assay_env   *env = fake_env();
    as_sensors  *s = NULL;
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    as_trace_add_sensor(t, &(as_trace_sensor){.name = "another", .reason = "not ours"});
    expect_ok(env, as_sensors_open(env, "cputime", &s));
    expect_ok(env, as_sensors_describe(env, s, t));
    expect(as_trace_reserve(t, 0, 0, 0, 4));
    as_sensors_read(s, true, 0, 0, t);
    expect_eq(t->n_readings, 1);
    expect_eq(t->readings[0].sensor, id_of(t, "cpu.time"));
    as_sensors_close(s);
    assay_trace_free(t);
}

Test(sensor, a_trace_that_was_not_described_gets_no_readings)
{
    rig          r = rig_open("all");
    as_sensors  *s = r.sensors;
    assay_trace *t = r.trace;
    expect(as_trace_reserve(t, 0, 0, 0, 64));
    as_sensors_read(s, false, 0, 0, t);
    expect_eq(t->n_readings, 0);
    rig_close(&r);
}

Test(sensor, reading_allocates_nothing)
{
    rig          r = rig_described("all");
    as_sensors  *s = r.sensors;
    assay_trace *t = r.trace;
    expect(as_trace_reserve(t, 0, 0, 0, 4 * as_sensors_n_values(s)));
    size_t before = as_test_n_allocs();
    for (int i = 0; i < 4; i++)
        as_sensors_read(s, i % 2, 0, 0, t);
    expect_eq(as_test_n_allocs(), before);
    rig_close(&r);
}

/* Reads one value of one sensor, twice, with `work` in between. */
static void read_around(const char *which, const char *name, void (*work)(void), double out[2])
{
    rig          r = rig_described(which);
    as_sensors  *s = r.sensors;
    assay_trace *t = r.trace;
    expect(as_trace_reserve(t, 0, 0, 0, 2 * as_sensors_n_values(s)));
    as_sensors_read(s, false, 0, 0, t);
    size_t first = t->n_readings;
    work();
    as_sensors_read(s, false, 1, 1, t);
    uint32_t id = id_of(t, name);
    out[0] = out[1] = NAN;
    for (size_t i = 0; i < t->n_readings; i++)
        if (t->readings[i].sensor == id)
            out[i >= first] = t->readings[i].value;
    rig_close(&r);
}

enum { WORK_BYTES = 64 << 20, PAGE_BYTES = 4096 };

static void touch_memory(void)
{
    volatile char *bytes = malloc(WORK_BYTES);
    if (!bytes)
        return;
    for (size_t i = 0; i < WORK_BYTES; i += PAGE_BYTES)
        bytes[i] = 1;
    free((void *)bytes);
}

static void burn_cpu(void)
{
    volatile double x = 1;
    for (int i = 0; i < 3000000; i++)
        x = x * 1.0000001;
}

Test(sensor, the_resident_peak_sees_memory_that_was_touched)
{
    double peak[2];
    read_around("memory", "memory.resident.peak", touch_memory, peak);
    if (isnan(peak[0]))
        skip("no resident peak here");
    expect(peak[1] >= peak[0]);
    expect(peak[1] >= WORK_BYTES);
}

Test(sensor, cpu_time_goes_on_with_work)
{
    double ns[2];
    read_around("cputime", "cpu.time", burn_cpu, ns);
    expect(ns[1] > ns[0]);
}

Test(sensor, the_machine_sheet_leaves_no_key_out)
{
    static const char *const keys[] = {"machine.cpu.model",    "machine.cpu.vendor", "machine.cpu.cores", "machine.cpu.allowed",
                                       "machine.cpu.isa",      "machine.cache.l1d",  "machine.cache.l2",  "machine.cache.l3",
                                       "machine.memory.bytes", "machine.os",         "machine.kernel",    "machine.hypervisor",
                                       "machine.governor",     "machine.microcode",  "machine.boot",      "machine.loadavg",
                                       "machine.fingerprint",  "clock.name",         "clock.ns_per_tick", "clock.cost_ns",
                                       "software.assay",       "software.compiler",  "software.libc"};
    assay_env               *env = fake_env();
    assay_trace             *t;
    expect_ok(env, as_trace_new(env, &t));
    as_machine_describe(env, t);
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        const char *value = as_trace_note_find(t, keys[i]);
        if (!value || !*value)
            fail("no note %s", keys[i]);
        if (!strncmp(value, "unavailable", 11)) /* with its reason */
            expect(strlen(value) > strlen("unavailable: "));
    }
    expect_str(as_trace_note_find(t, "software.assay"), ASSAY_VERSION);
    assay_trace_free(t);
}

Test(sensor, the_fingerprint_is_the_same_twice)
{
    char a[17], b[17];
    as_machine_fingerprint(a);
    as_machine_fingerprint(b);
    expect_str(a, b);
    expect_eq(strlen(a), 16);
    for (int i = 0; i < 16; i++)
        expect(isxdigit((unsigned char)a[i]));
}

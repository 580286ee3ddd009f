/* replay_test.c - sensors on recordings of machines that have them, and every rung taken away by force: docs/sensors.md, "Without". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sensor/probe.h"
#include "sensor/sensor.h"
#include "tests/runner/test.h"

typedef struct seen {
    double      first, last;
    const char *reason, *source;
} seen;

static assay_trace *trace;

/* Opens the sensors, reads them twice, and gives what one of them saw. */
static seen watch(const char *which, const char *name)
{
    static assay_env env;
    as_sensors      *s;
    seen             out = {(double)NAN, (double)NAN, NULL, NULL};
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 0);
    assay_trace_free(trace);
    expect_ok(&env, as_trace_new(&env, &trace));
    expect_ok(&env, as_sensors_open(&env, which, &s));
    expect_ok(&env, as_sensors_describe(&env, s, trace));
    expect(as_trace_reserve(trace, 0, 0, 0, 2 * as_sensors_n_values(s) + 1));
    for (unsigned i = 0; i < 2; i++)
        as_sensors_read(s, false, i, i, trace);
    as_sensors_close(s);
    for (size_t i = 0; i < trace->n_sensors; i++) {
        if (strcmp(trace->sensors[i].name, name))
            continue;
        out.reason = trace->sensors[i].reason;
        out.source = trace->sensors[i].source;
        for (size_t k = 0; k < trace->n_readings; k++)
            if (trace->readings[k].sensor == i) {
                out.first = trace->readings[k].sample ? out.first : trace->readings[k].value;
                out.last = trace->readings[k].value;
            }
    }
    return out;
}

static void environment(const char *replay, const char *without)
{
    if (replay)
        setenv("ASSAY_REPLAY", replay, 1);
    else
        unsetenv("ASSAY_REPLAY");
    if (without)
        setenv("ASSAY_WITHOUT", without, 1);
    else
        unsetenv("ASSAY_WITHOUT");
}

static void over(void)
{
    environment(NULL, NULL);
    assay_trace_free(trace);
    trace = NULL;
}

#if defined(__linux__)

Test(replay, rapl_goes_on_where_its_counter_wraps)
{
    environment("tests/replay/server", NULL);
    seen s = watch("rapl", "energy.package"); /* 262143000000, 262143120000 (the test of the sensor), then 262143240000 and 31150 */
    expect(!s.reason);
    expect_has(s.source, "replay of a recording");
    expect_eq(round(s.first * 1e6), 240000);
    expect_eq(round((s.last - s.first) * 1e6), 262143328850 - 262143240000 + 31150);
    over();
}

Test(replay, temperature_is_the_cpus_and_no_other_zones)
{
    environment("tests/replay/server", NULL);
    seen s = watch("temp", "cpu.temperature");
    expect_eq(s.first, 61);
    expect_eq(s.last, 62);
    over();
}

Test(replay, cpufreq_is_in_kilohertz)
{
    environment("tests/replay/server", NULL);
    seen s = watch("freq", "cpu.frequency");
    expect_eq(s.first, 3412500e3);
    expect_eq(s.last, 3399998e3);
    over();
}

Test(replay, counters_of_the_cpu_and_of_its_memory_controller)
{
    environment("tests/replay/server", NULL);
    seen s = watch("perf", "instructions");
    expect_eq(s.last - s.first, 2000000);
    s = watch("perf", "cache.misses");
    expect_eq(s.last - s.first, 5000);
    s = watch("perf", "cache.loads");
    expect_eq(s.last - s.first, 500000);
    s = watch("perf", "cache.l1.misses");
    expect_eq(s.last - s.first, 10000);
    s = watch("all,dram", "memory.dram.bytes");
    expect_eq(s.last - s.first, 0);
    expect_has(watch("all", "memory.dram.bytes").reason, "not asked for: --track-bandwidth reads it");
    over();
}

Test(replay, ioreport_adds_up_energy_and_bytes)
{
    environment("tests/replay/mac", NULL);
    seen s = watch("ioreport", "energy.cpu");
    expect(fabs(s.first - 4.213) < 1e-9 && fabs(s.last - 8.426) < 1e-9);
    s = watch("ioreport", "energy.gpu");
    expect(fabs(s.first - 1.25) < 1e-9);
    s = watch("ioreport", "memory.dcs.bytes");
    expect_eq(s.first, 40e9);
    over();
}

/* Every rung, taken away: no number, and a sentence of its own. */
Test(replay, each_rung_that_is_taken_away_says_why)
{
    static const struct {
        const char *without, *which, *value, *says;
    } rungs[] = {
        {"pmu", "perf", "instructions", "without a PMU"},
        {"perf", "perf", "instructions", "sysctl kernel.perf_event_paranoid=2"},
        {"pmu,perf", "perf", "cache.misses", "without a PMU"},
        {"psi", "psi", "pressure.memory", "without CONFIG_PSI"},
        {"rapl", "rapl", "energy.package", "without RAPL"},
        {"temp", "temp", "cpu.temperature", "has a zone"},
        {"freq", "freq", "cpu.frequency", "cpufreq"},
        {"steal", "steal", "cpu.steal", "no steal time"},
        {"dram", "all,dram", "memory.dram.bytes", "without memory bandwidth monitoring"},
    };
    for (size_t i = 0; i < AS_COUNT(rungs); i++) {
        environment(NULL, rungs[i].without);
        seen s = watch(rungs[i].which, rungs[i].value);
        if (!s.reason)
            fail("ASSAY_WITHOUT=%s: %s is still there", rungs[i].without, rungs[i].value);
        expect_has(s.reason, rungs[i].says);
        expect(isnan(s.last));
    }
    over();
}

/* A container that has none of these files. */
Test(replay, an_empty_machine_has_a_reason_for_everything)
{
    static const char *const values[] = {"pressure.cpu",  "energy.package", "cpu.temperature",
                                         "cpu.frequency", "instructions",   "cpu.steal"};
    environment(as_test_path("nothing"), NULL);
    for (size_t i = 0; i < AS_COUNT(values); i++) {
        seen s = watch("all", values[i]);
        if (!s.reason || !*s.reason)
            fail("%s has no reason", values[i]);
    }
    over();
}

#endif

Test(replay, without_the_cpus_own_counter_the_clock_is_the_systems)
{
    assay_env *env;
    environment(NULL, "tsc");
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_str(env->clock.name, "monotonic");
    expect_has(env->clock.why, "ASSAY_WITHOUT");
    assay_env_free(env);
    over();
}

Test(replay, a_word_that_takes_nothing_away_is_refused)
{
    static assay_env env;
    as_sensors      *s = NULL;
    environment(NULL, "psi,pum");
    expect_fails(&env, as_sensors_open(&env, "all", &s), ASSAY_BAD_INPUT, "ASSAY_WITHOUT holds 'pum'");
    expect(!s);
    over();
}

Test(replay, a_shared_counter_is_no_reading)
{
    uint64_t count = 7;
    expect(as_perf_reading("123 500 500", &count) && count == 123);
    expect(!as_perf_reading("123 500 400", &count));
    expect(!as_perf_reading("123 500", &count));
    expect(!as_perf_reading("x", &count));
    expect(!as_perf_reading("1 2 3 4", &count));
    expect_eq(count, 123);
}

Test(replay, ioreport_refuses_lines_that_are_none)
{
    as_ioreport r = {.cpu_joule = 7};
    char        why[128];
    expect(!as_ioreport_parse("Energy Model|CPU Energy|mJ|5\n", &r, why, sizeof why));
    expect_has(why, "line 1");
    expect(!as_ioreport_parse("\nEnergy Model||CPU Energy|mJ|x\n", &r, why, sizeof why));
    expect_has(why, "line 2");
    expect(!as_ioreport_parse("A|B|C|D|IDLE=x\n", &r, why, sizeof why));
    expect_eq(r.cpu_joule, 7);
    expect(as_ioreport_parse("Energy Model||CPU Energy|furlong|5\nCPU Stats|CPU Core Performance States|P|t|IDLE=1,V0=3\n", &r, why,
                             sizeof why));
    expect(isnan(r.cpu_joule));
    expect_eq(r.cpu_active, 0.75);
}

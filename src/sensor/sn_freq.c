/* sn_freq.c - the clock rate of the CPU that the calling thread is on. */
/* os: linux */
#include <math.h>
#include <sched.h>
#include <stdio.h>

#include "base/file.h"
#include "base/text.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

typedef struct freq {
    bool     has_cpufreq;
    unsigned n_reads;
} freq;

static double cpufreq_hertz(freq *f)
{
    char    path[96];
    int64_t khz;
    int     cpu = as_replays() ? 0 : sched_getcpu(); /* a recording has one CPU */
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu < 0 ? 0 : cpu);
    return as_system_i64("freq", path, f->n_reads++, &khz) && khz > 0 ? (double)khz * 1e3 : NAN;
}

static double cpuinfo_hertz(void)
{
    char   text[4096], value[32], path[1024];
    double mhz;
    return as_file_small(as_system_path("freq", "/proc/cpuinfo", path, sizeof path), text, sizeof text) &&
                   as_field_text(text, "cpu MHz", value, sizeof value) && as_parse_f64(value, &mhz) && mhz > 0
               ? mhz * 1e6
               : NAN;
}

/* Without cpufreq a virtual machine always shows the nominal rate, whatever the CPU does: that is not a measurement. */
static bool open_freq(void *state, bool *available, char (*why)[256])
{
    freq  *f = state;
    char   hypervisor[64];
    double told = cpuinfo_hertz();
    f->has_cpufreq = !isnan(cpufreq_hertz(f));
    if (f->has_cpufreq) {
        available[0] = true;
    } else if (as_hypervisor_find(hypervisor, sizeof hypervisor)) {
        if (isnan(told))
            snprintf(why[0], sizeof why[0], "a virtual machine (%s) without cpufreq", hypervisor);
        else
            snprintf(why[0], sizeof why[0],
                     "a virtual machine (%s) without cpufreq; the %.0f MHz of /proc/cpuinfo are a nominal constant", hypervisor,
                     told / 1e6);
    } else if (isnan(told)) {
        snprintf(why[0], sizeof why[0], "neither cpufreq in /sys nor \"cpu MHz\" in /proc/cpuinfo");
    } else {
        available[0] = true;
    }
    return available[0];
}

static void read_freq(void *state, double *values)
{
    freq *f = state;
    values[0] = f->has_cpufreq ? cpufreq_hertz(f) : cpuinfo_hertz();
}

const as_sensor as_sn_freq = {
    .name = "freq",
    .help = "clock rate of the current CPU",
    .values = {{"cpu.frequency", "hertz", "cpufreq scaling_cur_freq, else \"cpu MHz\" of /proc/cpuinfo", "level"}},
    .n_values = 1,
    .state_bytes = sizeof(freq),
    .open = open_freq,
    .read = read_freq,
};

/* sn_steal.c - CPU time that the host gave to others although this virtual machine wanted it, all CPUs together. */
/* os: linux */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

typedef struct steal { double ns_per_tick; } steal;

static bool steal_ticks(uint64_t *out)
{
    char text[512]; /* the line of all CPUs comes first */
    return as_file_small("/proc/stat", text, sizeof text) && as_stat_steal_ticks(text, out);
}

static bool open_steal(void *state, bool *available, char (*why)[256])
{
    steal *s = state;
    uint64_t ticks;
    long hertz = sysconf(_SC_CLK_TCK);
    if (!steal_ticks(&ticks) || hertz <= 0) {
        snprintf(why[0], sizeof why[0], "/proc/stat has no steal time in its line \"cpu\"");
        return false;
    }
    s->ns_per_tick = 1e9 / (double)hertz;
    available[0] = true;
    return true;
}

static void read_steal(void *state, double *values)
{
    const steal *s = state;
    uint64_t ticks;
    values[0] = steal_ticks(&ticks) ? (double)ticks * s->ns_per_tick : NAN;
}

const as_sensor as_sn_steal = {
    .name = "steal",
    .help = "CPU time that the host took from this virtual machine",
    .values = {{"cpu.steal", "ns", "/proc/stat cpu, eighth number, times 1 / _SC_CLK_TCK", "delta"}},
    .n_values = 1,
    .state_bytes = sizeof(steal),
    .open = open_steal,
    .read = read_steal,
};

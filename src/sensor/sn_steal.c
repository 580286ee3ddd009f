/* sn_steal.c - CPU time that the host gave to others although this virtual machine wanted it, all CPUs together. */
/* os: linux */
#include <math.h>
#include <stdio.h>

#include "sensor/probe.h"
#include "sensor/sensor.h"

static bool open_steal(void *state, bool *available, char (*why)[256])
{
    (void)state;
    if (isnan(as_steal_ns())) {
        snprintf(why[0], sizeof why[0], "/proc/stat has no steal time in its line \"cpu\"");
        return false;
    }
    available[0] = true;
    return true;
}

static void read_steal(void *state, double *values)
{
    (void)state;
    values[0] = as_steal_ns();
}

const as_sensor as_sn_steal = {
    .name = "steal",
    .help = "CPU time that the host took from this virtual machine",
    .values = {{"cpu.steal", "ns", "/proc/stat cpu, eighth number, times 1 / _SC_CLK_TCK", "delta"}},
    .n_values = 1,
    .open = open_steal,
    .read = read_steal,
};

/* sn_cputime.c - CPU time of this process, all of its threads. */
#include "sensor/sensor.h"

static bool open_cputime(void *state, bool *available, char (*why)[256])
{
    (void)state, (void)why;
    available[0] = as_process_cpu_ns() != 0; /* a process that has come this far has used some */
    return available[0];
}

static void read_cputime(void *state, double *values)
{
    (void)state;
    values[0] = (double)as_process_cpu_ns();
}

const as_sensor as_sn_cputime = {
    .name = "cputime",
    .help = "CPU time of this process, all threads",
    .values = {{"cpu.time", "ns", "clock_gettime(CLOCK_PROCESS_CPUTIME_ID)", "delta"}},
    .n_values = 1,
    .per_sample = true,
    .open = open_cputime,
    .read = read_cputime,
};

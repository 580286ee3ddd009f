/* sn_psi.c - pressure stall information: time in which some task of the machine waited for CPU, memory or disk. */
/* os: linux */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

static const char *const paths[] = {"/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"};

static void read_psi(void *state, double *values)
{
    char     text[512], path[1024];
    uint64_t us;
    (void)state;
    for (size_t i = 0; i < AS_COUNT(paths); i++)
        values[i] =
            as_file_small(as_system_path("psi", paths[i], path, sizeof path), text, sizeof text) && as_psi_some_us(text, &us)
                ? (double)us * 1e3
                : NAN;
}

static bool open_psi(void *state, bool *available, char (*why)[256])
{
    double values[AS_COUNT(paths)];
    bool   any = false;
    read_psi(state, values);
    for (size_t i = 0; i < AS_COUNT(paths); i++) {
        available[i] = !isnan(values[i]);
        any = any || available[i];
        if (available[i])
            continue;
        char text[64], path[1024];
        errno = 0;
        if (as_file_small(as_system_path("psi", paths[i], path, sizeof path), text, sizeof text))
            snprintf(why[i], sizeof why[i], "%s has no total in a line \"some\"", paths[i]);
        else
            snprintf(why[i], sizeof why[i], "%s: %s: a kernel before 4.20, without CONFIG_PSI, or booted without psi=1", paths[i],
                     strerror(errno));
    }
    return any;
}

const as_sensor as_sn_psi = {
    .name = "psi",
    .help = "time in which a task of this machine waited for CPU, memory or disk",
    .values = {{"pressure.cpu", "ns", "/proc/pressure/cpu some total", "delta"},
               {"pressure.memory", "ns", "/proc/pressure/memory some total", "delta"},
               {"pressure.io", "ns", "/proc/pressure/io some total", "delta"}},
    .n_values = 3,
    .open = open_psi,
    .read = read_psi,
};

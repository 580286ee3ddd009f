/* sn_temp.c - the temperature of the CPU package. */
/* os: linux */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

enum { N_ZONES = 64 };

typedef struct temp {
    char     path[96];
    unsigned n_reads;
} temp;

/* A zone of the battery, the disk or the radio would give a number about something else. */
static bool is_cpu(const char *name)
{
    static const char *const words[] = {"x86_pkg_temp", "coretemp", "k10temp", "zenpower", "cpu", "CPU", "soc", "SoC"};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* Searches base0/name, base1/name ... for a CPU's; n_seen counts those that exist. */
static bool zone_find(const char *base, const char *name, const char *value, char *path, size_t size, int *n_seen)
{
    char    text[64], where[1024];
    int64_t milli;
    for (int i = 0; i < N_ZONES; i++) {
        snprintf(path, size, "%s%d/%s", base, i, name);
        if (!as_file_small(as_system_path("temp", path, where, sizeof where), text, sizeof text))
            continue;
        ++*n_seen;
        snprintf(path, size, "%s%d/%s", base, i, value);
        if (is_cpu(text) && as_system_i64("temp", path, 0, &milli))
            return true;
    }
    return false;
}

static bool open_temp(void *state, bool *available, char (*why)[256])
{
    temp *t = state;
    int   n_seen = 0;
    available[0] = zone_find("/sys/class/thermal/thermal_zone", "type", "temp", t->path, sizeof t->path, &n_seen) ||
                   zone_find("/sys/class/hwmon/hwmon", "name", "temp1_input", t->path, sizeof t->path, &n_seen);
    if (available[0])
        snprintf(why[0], sizeof why[0], "read from %s", t->path);
    else if (n_seen)
        snprintf(why[0], sizeof why[0], "none of the %d zones in /sys/class/thermal and /sys/class/hwmon is a CPU's", n_seen);
    else
        snprintf(why[0], sizeof why[0], "neither /sys/class/thermal nor /sys/class/hwmon has a zone, as in most virtual machines");
    return available[0];
}

static void read_temp(void *state, double *values)
{
    temp   *t = state;
    int64_t milli;
    values[0] = as_system_i64("temp", t->path, t->n_reads++, &milli) ? (double)milli / 1e3 : NAN;
}

const as_sensor as_sn_temp = {
    .name = "temp",
    .help = "temperature of the CPU package",
    .values = {{"cpu.temperature", "celsius", "/sys/class/thermal or /sys/class/hwmon, the first zone of a CPU", "level"}},
    .n_values = 1,
    .state_bytes = sizeof(temp),
    .open = open_temp,
    .read = read_temp,
};

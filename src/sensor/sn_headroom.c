/* sn_headroom.c - how much memory is left: of the machine, and of the control group that this process is in. */
/* os: linux */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

#define NO_LIMIT (UINT64_C(1) << 60) /* version 1 says "no limit" with a number as large as this */

/* The directory of the group whose limit is the lowest, among this process's own and those around it; "": none has one. */
typedef struct group {
    char     path[1024];
    bool     old; /* version 1 */
    uint64_t limit;
} group;

static bool number_of(const group *g, const char *of_new, const char *of_old, uint64_t *out)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", g->path, g->old ? of_old : of_new);
    int64_t value;
    if (!as_file_i64(path, &value) || value < 0)
        return false;
    *out = (uint64_t)value;
    return true;
}

static bool limit_of(const group *g, uint64_t *out)
{
    return number_of(g, "memory.max", "memory.limit_in_bytes", out) && *out < NO_LIMIT;
}

/* What the group uses and could not give back at once: its file pages that nobody has used lately are free to take. */
static double used_of(const group *g)
{
    char     path[1200], text[16384];
    uint64_t used, idle = 0;
    if (!number_of(g, "memory.current", "memory.usage_in_bytes", &used))
        return NAN;
    snprintf(path, sizeof path, "%s/memory.stat", g->path);
    if (as_file_small(path, text, sizeof text))
        as_stat_number(text, g->old ? "total_inactive_file" : "inactive_file", &idle);
    return (double)(used > idle ? used - idle : 0);
}

/* From the process's own group upwards; in a container its path may not be visible, and the mount is the group itself. */
static void group_find(group *out, char why[256])
{
    char  text[8192], path[512];
    group g = {.old = false};
    *out = (group){.old = false};
    if (!as_file_small("/proc/self/cgroup", text, sizeof text) || !as_cgroup_path(text, path, sizeof path, &g.old)) {
        snprintf(why, 256, "/proc/self/cgroup names no group that counts memory");
        return;
    }
    const char *root = g.old ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    snprintf(why, 256, "no memory limit is set for the control group %.180s or one around it", path);
    for (;;) {
        snprintf(g.path, sizeof g.path, "%s%s", root, path);
        if (limit_of(&g, &g.limit) && (!*out->path || g.limit < out->limit))
            *out = g;
        char *slash = strrchr(path, '/');
        if (!slash || !path[0])
            break;
        *slash = 0;
    }
}

static void read_headroom(void *state, double *values)
{
    const group *g = state;
    char         text[8192];
    uint64_t     bytes;
    bool         read = as_file_small("/proc/meminfo", text, sizeof text);
    values[0] = read && as_status_bytes(text, "MemAvailable", &bytes) ? (double)bytes : NAN;
    values[1] = read && as_status_bytes(text, "MemTotal", &bytes) ? (double)bytes : NAN;
    values[2] = *g->path ? used_of(g) : NAN;
    values[3] = *g->path && limit_of(g, &bytes) ? (double)bytes : NAN;
}

static bool open_headroom(void *state, bool *available, char (*why)[256])
{
    double values[4];
    group_find(state, why[3]);
    memcpy(why[2], why[3], sizeof why[2]);
    snprintf(why[0], sizeof why[0], "/proc/meminfo has no MemAvailable (is /proc mounted?)");
    snprintf(why[1], sizeof why[1], "/proc/meminfo has no MemTotal (is /proc mounted?)");
    read_headroom(state, values);
    bool any = false;
    for (int i = 0; i < 4; i++) {
        available[i] = !isnan(values[i]);
        any |= available[i];
    }
    return any;
}

const as_sensor as_sn_headroom = {
    .name = "headroom",
    .help = "memory that is left: of the machine, and of this process's control group",
    .values = {{"memory.available", "byte", "/proc/meminfo MemAvailable", "level"},
               {"memory.total", "byte", "/proc/meminfo MemTotal", "level"},
               {"memory.group.used", "byte", "usage of the control group without idle file pages", "level"},
               {"memory.group.limit", "byte", "lowest limit of the control group and those around it", "level"}},
    .n_values = 4,
    .per_sample = true,
    .state_bytes = sizeof(group),
    .open = open_headroom,
    .read = read_headroom,
};
